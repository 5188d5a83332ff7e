"""Effects that nobody finishes: leases, the sweep that ends stalled effects, and outcomes that are still owed.

- Every process raises the lease of its open intents every third of its length. A lease is a counter, no time:
  clocks of several hosts need not agree.
- An intent of another process that stands with the same counter for a whole lease, by this process's monotonic clock,
  is ended: an `outcome` entry with `end: interrupted`. Nobody knows then whether the site did it.
- An outcome that could not be written while its request ran is owed. It is written as soon as the ledger takes it,
  also after a sweep has called the effect interrupted; then it says `late`. What was settled by then is contradicted on
  record, and the idempotency key, which may be another request's by then, is left alone.
- The answer that is kept for an idempotency key commits with the outcome.

It does not: settle what was interrupted (`settlements`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from negotiator.model.governed import Outcome, Verdict
from negotiator.model.records import Closing, Intent, SiteAnswer, StoredAnswer
from negotiator.ports import Chore, Clock, Tx
from negotiator.services.recording import interrupted_draft, outcome_draft

__all__ = ["LEASE_SECONDS", "Leases", "record_outcome"]

LEASE_SECONDS: Final = 30.0
"""How long an intent stands without a sign of life of its process before it is ended."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    """An intent as it was seen; an equal one later means that its process has not stirred."""

    decision_id: str
    owner: str
    lease_seq: int


class Leases:
    """What one process knows of effects under way, its own and those of others. The writer's thread runs `attend`.

    Args:
        clock: its monotonic side counts.
        lease_seconds: how long an intent stands without a sign of life of its process before it is ended.
    """

    def __init__(self, clock: Clock, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._first_seen: dict[_Sighting, float] = {}
        self._owed: dict[str, tuple[Verdict, Outcome]] = {}

    @property
    def chore(self) -> Chore:
        """What the store attends to."""
        return Chore(name="leases", every_seconds=self._lease_seconds / 3, unit=self.attend, at_stop=True)

    def owe(self, verdict: Verdict, outcome: Outcome) -> None:
        """Remember an outcome that could not be written, or an effect that may have been begun and will not be run."""
        self._owed[verdict.decision_id] = (verdict, outcome)

    def attend(self, tx: Tx) -> None:
        """The unit: write what is owed, raise the own leases, end what is stalled."""
        for verdict, outcome in tuple(self._owed.values()):
            if not record_outcome(tx, verdict, outcome):
                self._owed.pop(verdict.decision_id, None)
        tx.intents.renew(tx.owner)
        for intent in self._stalled(tx):
            if tx.intents.interrupt(intent, tx.now):
                tx.append(interrupted_draft(intent))

    def _stalled(self, tx: Tx) -> list[Intent]:
        """Return the intents of others that have not stirred for a whole lease."""
        now = self._clock.monotonic()
        seen = {_sighting(intent): intent for intent in tx.intents.of_others(tx.owner)}
        self._first_seen = {sighting: self._first_seen.get(sighting, now) for sighting in seen}
        return [intent for sighting, intent in seen.items() if now - self._first_seen[sighting] >= self._lease_seconds]


def record_outcome(tx: Tx, verdict: Verdict, outcome: Outcome) -> bool:
    """Write an outcome and close its intent; False, and nothing written, where there is nothing to close."""
    closing = tx.intents.close(verdict.decision_id, outcome.end, tx.now, called=outcome.called)
    if closing is Closing.NONE:
        return False
    kept = outcome.answer if verdict.keeps is not None and closing is not Closing.CONTRADICTED else None
    if kept is not None:
        tx.idempotency.keep(_stored(kept, verdict.decision_id, tx))
    tx.append(outcome_draft(verdict, outcome, closing, kept=kept is not None))
    return True


def _stored(answer: SiteAnswer, decision_id: str, tx: Tx) -> StoredAnswer:
    return StoredAnswer(
        decision_id=decision_id,
        status=answer.status,
        headers=answer.headers,
        body=answer.body,
        stored_at=tx.now,
    )


def _sighting(intent: Intent) -> _Sighting:
    return _Sighting(intent.decision_id, intent.owner, intent.lease_seq)
