"""Standing: whether the negotiations and credentials that open sockets and streams stand on still hold.

Rules:

- One read answers for all of them, on committed rows: what another process has revoked counts.
- What a new request would be refused for ends an open one, with the same code; only a changed cap has its own,
  `refused`.
- What cannot be read is an error and never an answer.

It does not end anything: that is the enforcement point's work.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from negotiator.model.governed import Standing
from negotiator.ports import Clock, Reader, Store

__all__ = ["Standings"]


class Standings:
    """Asks the store what became of them."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def lost(self, held: Collection[Standing]) -> Mapping[Standing, str]:
        """Return those that no longer hold, each with its problem code.

        Raises:
            UnavailableError: the store cannot be read.
        """
        at = self._clock.now()

        def query(reader: Reader) -> dict[Standing, str]:
            return {each: code for each in held if (code := _code(reader, each, at))}

        return await self._store.read(query)


def _code(reader: Reader, standing: Standing, at: datetime) -> str:
    """Return why the standing is lost; empty while it holds."""
    if standing.credential_id:
        rows = reader.agents.with_credential(standing.credential_id)
        if rows is None or rows[0].revoked_at or rows[1].revoked_at:
            return "credentials_invalid"
        if rows[0].max_level != standing.max_level:
            return "refused"
    if standing.negotiation_id and not reader.negotiations.is_live(standing.negotiation_id, at):
        return "negotiation_expired"
    return ""
