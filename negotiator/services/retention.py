"""What is over is deleted after a while; the ledger keeps what it says of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from negotiator.ports import Chore, Tx

__all__ = ["EVERY_SECONDS", "MOST_AT_ONCE", "Retention"]

EVERY_SECONDS: Final = 60.0
MOST_AT_ONCE: Final = 500

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


class Retention:
    """Deletes negotiations that expired long ago, a few at a time."""

    def __init__(self, *, negotiations_days: int) -> None:
        self._kept = timedelta(days=negotiations_days)

    @property
    def chore(self) -> Chore:
        """What the store attends to."""
        return Chore(name="retention", every_seconds=EVERY_SECONDS, unit=self._sweep)

    def _sweep(self, tx: Tx) -> None:
        if tx.now - _BEGINNING > self._kept:
            tx.negotiations.forget(before=tx.now - self._kept, most=MOST_AT_ONCE)
