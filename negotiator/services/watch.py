"""Long polls: who waits for a consent to be decided, without a thread or a query of their own.

- One task looks for all who wait, with one read each `every_seconds`; what this process decides itself wakes at once.
- So many may wait and no more: the next is answered at once with what is known. A wait is a preference (RFC 7240).
- Nothing runs while nobody waits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from functools import partial

from negotiator.errors import UnavailableError
from negotiator.model.consents import ConsentState
from negotiator.ports import Reader, Store

__all__ = ["Watch"]


class Watch:
    """Everybody of one process who waits.

    Args:
        store: asked about what they wait for.
        every_seconds: how often.
        most: how many may wait.
        most_each: how many of one subject may.
    """

    def __init__(self, store: Store, *, every_seconds: float = 0.5, most: int = 256, most_each: int = 4) -> None:
        self._store = store
        self._every_seconds = every_seconds
        self._most = most
        self._most_each = most_each
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._by_subject: Counter[str] = Counter()
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many wait now."""
        return self._by_subject.total()

    async def wait(self, request_id: str, *, subject: str, seconds: float) -> bool:
        """Return when the request no longer waits, or after `seconds`; False at once where too many wait."""
        if self.waiting >= self._most or self._by_subject[subject] >= self._most_each:
            return False
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(request_id, set()).add(waiter)
        self._by_subject[subject] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(waiter, seconds)
        finally:
            self._by_subject[subject] -= 1
            self._by_subject += Counter()
            self._leave(request_id, waiter)
        return True

    def wake(self, request_id: str) -> None:
        """Tell those who wait for a request that it was ended here; on the event loop's thread only."""
        for waiter in self._waiting.get(request_id, ()):
            if not waiter.done():
                waiter.set_result(None)

    def _leave(self, request_id: str, waiter: asyncio.Future[None]) -> None:
        others = self._waiting.get(request_id, set())
        others.discard(waiter)
        if not others:
            self._waiting.pop(request_id, None)

    async def _look(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._every_seconds)
            wanted = tuple(self._waiting)
            with suppress(UnavailableError):
                for request_id in await self._store.read(partial(_ended, wanted=wanted)):
                    self.wake(request_id)


def _ended(reader: Reader, wanted: tuple[str, ...]) -> list[str]:
    found = ((request_id, reader.consents.get(request_id)) for request_id in wanted)
    return [request_id for request_id, row in found if row is None or row.state is not ConsentState.PENDING]
