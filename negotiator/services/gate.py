"""The gate before what takes long and holds the interpreter: one at a time, a short queue, then a refusal.

The work runs in a thread, so that governed requests go on between the engine's calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from negotiator.services.budgets import OverBudgetError
from negotiator.services.suppressed import Suppressed

__all__ = ["Gate"]

T = TypeVar("T")


class Gate:
    """Lets one piece of work through at a time.

    Args:
        most: how many may be inside or wait, together.
        suppressed: told of each that was turned away.
    """

    def __init__(self, *, most: int, suppressed: Suppressed) -> None:
        self._most = most
        self._suppressed = suppressed
        self._turn = asyncio.Lock()
        self.inside = 0

    async def run(self, work: Callable[[], T], *, source: str) -> T:
        """Return what `work` returns, once it is its turn.

        Raises:
            OverBudgetError: `over_budget`: too many wait.
        """
        if self.inside >= self._most:
            self._suppressed.suppress("over_budget", source)
            message = "too many wait for this; try again"
            raise OverBudgetError(message, code="over_budget", retry_after_seconds=1)
        self.inside += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(work)
        finally:
            self.inside -= 1
