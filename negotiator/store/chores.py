"""Chores of one writer: which are due, and when the next one is. Not thread-safe; the writer's thread has it."""

from __future__ import annotations

from collections.abc import Sequence

from negotiator.ports import Chore, Clock

__all__ = ["Agenda"]


class Agenda:
    """When each chore ran last.

    Args:
        chores: what is to be done; others may be added to it at any time.
        clock: its monotonic side counts.
    """

    def __init__(self, chores: Sequence[Chore], clock: Clock) -> None:
        self._chores = chores
        self._clock = clock
        self._next: dict[str, float] = {}

    def due(self) -> list[Chore]:
        """Return what is due now, and take it as begun. A chore's first turn is at once."""
        now = self._clock.monotonic()
        due = [chore for chore in tuple(self._chores) if self._next.get(chore.name, now) <= now]
        for chore in due:
            self._next[chore.name] = now + chore.every_seconds
        return due

    def at_stop(self) -> list[Chore]:
        """Return what runs once more at the end."""
        return [chore for chore in self._chores if chore.at_stop]

    def seconds_left(self) -> float | None:
        """Return how long the writer may wait; None where there is no chore."""
        now = self._clock.monotonic()
        return min((max(self._next.get(chore.name, now) - now, 0.0) for chore in tuple(self._chores)), default=None)
