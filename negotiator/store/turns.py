"""What one turn of an event loop asks to be written reaches the writer together.

Rules:

- A unit waits no longer than the loop's present turn: the callbacks that were ready when it came.
- Handed over at once, the units of a turn wake the writer once and share a commit; one by one, the first would wake
  it alone. Order is kept.

It does not refuse: the writer does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Turns"]

T = TypeVar("T")


class Turns(Generic[T]):
    """Gathers what is added during a turn of the running event loop.

    Args:
        hand_over: given everything of one turn, on the loop's thread; must not raise.
    """

    def __init__(self, hand_over: Callable[[Sequence[T]], None]) -> None:
        self._hand_over = hand_over
        self._gathered: dict[asyncio.AbstractEventLoop, list[T]] = {}

    def add(self, item: T) -> None:
        """Hand `item` over at the end of this turn."""
        loop = asyncio.get_running_loop()
        if loop in self._gathered:
            self._gathered[loop].append(item)
        else:
            self._gathered[loop] = [item]
            loop.call_soon(self._end, loop)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        self._hand_over(self._gathered.pop(loop))
