"""What auditors ask of the ledger: its last entries, and whether it is whole."""

from __future__ import annotations

from collections.abc import Sequence

from negotiator.ledger import ChainReport, verify_chain
from negotiator.ports import Store

__all__ = ["Audit"]


class Audit:
    """The ledger of one project, for reading."""

    def __init__(self, *, store: Store, project: str) -> None:
        self._store = store
        self._project = project

    def tail(self, count: int) -> Sequence[bytes]:
        """Return the canonical lines of the last `count` entries, oldest first."""
        return self._store.read_sync(
            lambda reader: list(reader.ledger.lines(start=max(0, reader.ledger.size() - count)))
        )

    def verify(self) -> ChainReport:
        """Recompute the whole chain from the entries' content, as that of this project.

        Raises:
            IntegrityError: naming the first entry that differs from what was committed, and how.
        """
        return self._store.read_sync(
            lambda reader: verify_chain(
                reader.ledger.lines(), project=self._project, expected_entries=reader.ledger.size()
            )
        )
