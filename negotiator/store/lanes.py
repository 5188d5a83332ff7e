"""The writer's queue: bounded lanes, the most urgent first.

Rules:

- A full lane refuses at once; nobody waits for room, and a flood in one lane takes no room from another.
- Everything that waits is taken at once, in the order of lanes, then of arrival; nobody waits for a batch to fill.
- A closed queue refuses newcomers and gives out what it still holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from threading import Condition
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from negotiator.errors import UnavailableError
from negotiator.ports import Lane

__all__ = ["LANE_CAPACITY", "LANE_FULL_CODE", "Lanes"]

T = TypeVar("T")

LANE_CAPACITY: Final[Mapping[Lane, int]] = MappingProxyType(
    {Lane.OUTCOME: 1_024, Lane.GOVERNED: 1_024, Lane.DECLARATION: 64}
)
"""Units that may wait in each lane. Anonymous callers fill only the last one."""

LANE_FULL_CODE: Final[Mapping[Lane, str]] = MappingProxyType(
    {Lane.OUTCOME: "ledger_unavailable", Lane.GOVERNED: "ledger_unavailable", Lane.DECLARATION: "over_budget"}
)
"""What a caller hears whose lane is full."""


class Lanes(Generic[T]):
    """A thread-safe queue from many callers to one writer."""

    def __init__(self, capacity: Mapping[Lane, int] = LANE_CAPACITY) -> None:
        self._capacity = capacity
        self._lanes: dict[Lane, deque[T]] = {lane: deque() for lane in sorted(Lane)}
        self._changed = Condition()
        self._closed = False

    def put(self, item: T, lane: Lane) -> None:
        """Add `item`.

        Raises:
            UnavailableError: the lane is full (`LANE_FULL_CODE`), or the queue is closed (`ledger_unavailable`).
        """
        with self._changed:
            if self._closed:
                message = "the store is stopping; nothing was written"
                raise UnavailableError(message, code="ledger_unavailable")
            if len(self._lanes[lane]) >= self._capacity[lane]:
                message = f"{self._capacity[lane]} units wait in the lane {lane.name.lower()}; try again"
                raise UnavailableError(message, code=LANE_FULL_CODE[lane])
            self._lanes[lane].append(item)
            self._changed.notify()

    def take(self, limit: int, timeout_seconds: float | None = None) -> list[T]:
        """Return what waits, at most `limit`, after waiting for something; empty after `timeout_seconds` or `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or any(self._lanes.values()), timeout_seconds)
            items: list[T] = []
            for lane in self._lanes.values():
                while lane and len(items) < limit:
                    items.append(lane.popleft())
            return items

    def close(self) -> None:
        """Refuse newcomers from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Whether newcomers are refused."""
        return self._closed

    @property
    def depths(self) -> Mapping[Lane, int]:
        """How many wait in each lane."""
        return {lane: len(waiting) for lane, waiting in self._lanes.items()}
