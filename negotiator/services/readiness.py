"""Whether requests can be decided and recorded now: looked at, at most once a second, for whoever asks.

Rules:

- A look reads the ledger and passes an empty unit through the writer, which takes the lock of a change and makes none.
- However often it is asked, one look a second waits in the writer's queue: asking costs governed requests nothing.
- How full the lanes of this process are is seen whenever somebody asks: it costs nothing.
- A pepper that is gone is told while it is still remembered: without its file the next start makes another, and then no
  API token opens anything. A token key that is gone needs nobody: another is made, and what it signed still verifies.
- Until the first look has ended the store counts as unreadable; while a later one is under way, the last one holds.

It does not: know about policies (`web.api.status` does), or about free space: a full disk is told by `doctor`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from negotiator.errors import ConfigError, UnavailableError
from negotiator.model.conditions import MAX_CLOCK_BEHIND_SECONDS, Condition
from negotiator.ports import Clock, Store, Verifiers

__all__ = ["FULL_FROM", "LOOK_EVERY_SECONDS", "Readiness"]

LOOK_EVERY_SECONDS: Final = 1.0
FULL_FROM: Final = 0.8
"""The part of a lane's capacity from which somebody has to know."""

_UNREADABLE = Condition(
    code="store_unreadable",
    state="down",
    detail="the database cannot be read, so nothing is decided; run: negotiator store status",
)
_UNWRITABLE = Condition(
    code="store_unwritable",
    state="down",
    detail="the ledger cannot be written, so nothing is allowed; run: negotiator doctor",
)
_CLOCK_BEHIND = Condition(
    code="clock_behind",
    state="degraded",
    detail="the clock is behind the ledger's last entry by more than a minute, so times are wrong; set the clock",
)


class Readiness:
    """What keeps one project's store from serving. Shared by everybody who asks."""

    def __init__(self, *, store: Store, verifiers: Verifiers, clock: Clock) -> None:
        self._store = store
        self._verifiers = verifiers
        self._clock = clock
        self._known: Sequence[Condition] = (_UNREADABLE,)
        self._look_at = clock.monotonic()

    async def conditions(self) -> Sequence[Condition]:
        """Return what is wrong, as of the last look."""
        now = self._clock.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY_SECONDS
            self._known = [*await self._look(), *await asyncio.to_thread(self._keys)]
        return [*self._known, *self._lanes()]

    def _keys(self) -> Sequence[Condition]:
        try:
            self._verifiers.check()
        except ConfigError as error:
            return (Condition(code=error.code, state="degraded", detail=error.message),)
        return ()

    def _lanes(self) -> Sequence[Condition]:
        capacity = self._store.capacity()
        full = [
            f"{lane.name.lower()} {units} of {capacity[lane]}"
            for lane, units in self._store.waiting().items()
            if units >= FULL_FROM * capacity[lane]
        ]
        if not full:
            return ()
        detail = f"units wait to be written and are soon refused ({', '.join(full)}); look at the database and its disk"
        return (Condition(code="queue_filling", state="degraded", detail=detail),)

    async def _look(self) -> Sequence[Condition]:
        try:
            await self._store.read(lambda reader: reader.ledger.size())
        except UnavailableError:
            return (_UNREADABLE,)
        try:
            ledger_time = await self._store.transact(lambda tx: tx.now)
        except UnavailableError:
            return (_UNWRITABLE,)
        behind = ledger_time - self._clock.now()
        return (_CLOCK_BEHIND,) if behind > timedelta(seconds=MAX_CLOCK_BEHIND_SECONDS) else ()
