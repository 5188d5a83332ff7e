"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

__all__ = ["StillClock"]


@dataclass
class StillClock:
    """A wall clock and a monotonic one, moved by `advance` alone; only the wall clock is ever set back."""

    moment: datetime = field(default_factory=lambda: datetime(2026, 1, 31, 12, tzinfo=UTC))
    seconds: float = 1000.0

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
        self.seconds += max(seconds, 0.0)
