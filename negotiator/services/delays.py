"""How long somebody who fails has to wait: for each account, each source and each account's second factor.

Rules:

- A delay, never a lock-out: after some failures each further one doubles the wait, up to a bound. An account's bound is
  short, so that strangers cannot keep its owner out; what they come from is made to wait much longer.
- An attempt counts as failed from its beginning until it is known to have succeeded. So attempts at the same time do
  not slip through together.
- Names are not looked up: a name that nobody has waits like any other.
- Tables are bounded: when one is full, keys that it does not know share one entry with a short bound.

In memory, per process, by the monotonic clock. May be used from several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from threading import Lock
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from negotiator.errors import UnavailableError
from negotiator.model.sources import spender_of
from negotiator.ports import Clock
from negotiator.services.suppressed import Suppressed

__all__ = ["SCHEDULES", "Attempt", "Delays", "Schedule", "SignInDelayedError"]

Table: TypeAlias = Literal["account", "source", "factor"]

Counted: TypeAlias = tuple[str, float]
"""A key, and until when it has to wait for what was counted; another value there means that somebody came after."""

_MAX_KEYS: Final = 10_000
_SHARED: Final = ""
_SHARED_MOST_SECONDS: Final = 5.0


class SignInDelayedError(UnavailableError):
    """There were too many failures; nothing was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How waits grow.

    Attributes:
        free: failures without a wait; the next one costs a second, and each further one twice as much.
        most_seconds: the longest wait.
        memory_seconds: after so long without an attempt everything is forgotten.
    """

    free: int
    most_seconds: float
    memory_seconds: float

    def wait(self, failures: int) -> float:
        """Return the seconds to wait after so many failures."""
        over = min(failures - self.free, 30)
        return 0.0 if over <= 0 else min(self.most_seconds, 2.0 ** (over - 1))


SCHEDULES: Final[Mapping[Table, Schedule]] = MappingProxyType(
    {
        "account": Schedule(free=3, most_seconds=30.0, memory_seconds=900.0),
        "source": Schedule(free=10, most_seconds=900.0, memory_seconds=3_600.0),
        "factor": Schedule(free=3, most_seconds=900.0, memory_seconds=86_400.0),
    }
)


@dataclass(slots=True)
class _Entry:
    failures: int = 0
    free_at: float = 0.0
    seen: float = 0.0


class Attempt:
    """One attempt under way; it has failed unless it says otherwise."""

    def __init__(self, delays: Delays, counted: Mapping[Table, Counted]) -> None:
        self._delays = delays
        self._counted = counted

    def succeeded(self) -> None:
        """Forget the failures of the account or factor, and this attempt of its source."""
        self._delays.settle(self._counted, forgotten=("account", "factor"))

    def abandoned(self) -> None:
        """Take it back: nothing was looked at."""
        self._delays.settle(self._counted, forgotten=())


class Delays:
    """The failures of one process.

    Args:
        suppressed: told of each attempt that was not looked at.
    """

    def __init__(self, clock: Clock, suppressed: Suppressed) -> None:
        self._clock = clock
        self._suppressed = suppressed
        self._tables: dict[Table, dict[str, _Entry]] = {table: {} for table in SCHEDULES}
        self._forgot = clock.monotonic()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return how many entries there are."""
        return sum(map(len, self._tables.values()))

    def begin(self, *, source: str, account: str = "", factor: str = "") -> Attempt:
        """Begin an attempt.

        Args:
            source: the address that it comes from.
            account: the name that was typed, whether anybody has it or not.
            factor: the account whose second factor is shown.

        Raises:
            SignInDelayedError: `sign_in_delayed`, with the seconds to wait; the attempt does not count.
        """
        given: dict[Table, str] = {"source": spender_of(source), "account": account, "factor": factor}
        keys: dict[Table, str] = {table: key for table, key in given.items() if key}
        with self._lock:
            now = self._clock.monotonic()
            self._forget(now)
            entries = {table: self._entry(table, key) for table, key in keys.items()}
            wait = max((entry.free_at - now for _, entry in entries.values()), default=0.0)
            if wait > 0:
                self._suppressed.suppress("sign_in_delayed", source)
                message = "there were too many failures; wait, then try again"
                raise SignInDelayedError(message, code="sign_in_delayed", retry_after_seconds=ceil(wait))
            counted = {table: self._count(table, key, entry, now) for table, (key, entry) in entries.items()}
        return Attempt(self, counted)

    def settle(self, counted: Mapping[Table, Counted], *, forgotten: Iterable[Table]) -> None:
        """Take one attempt back, and everything that was counted in the tables `forgotten`."""
        with self._lock:
            for table, (key, free_at) in counted.items():
                entry = self._tables[table].get(key)
                if entry is None:
                    continue
                entry.failures -= entry.failures if table in forgotten and key != _SHARED else 1
                if entry.free_at == free_at:
                    entry.free_at = entry.seen
                if entry.failures <= 0:
                    del self._tables[table][key]

    def _entry(self, table: Table, key: str) -> tuple[str, _Entry]:
        """Return the entry, and the key under which it stands or will stand."""
        known = self._tables[table]
        if key not in known and len(known) >= _MAX_KEYS:
            key = _SHARED
        return key, known.get(key) or _Entry()

    def _count(self, table: Table, key: str, entry: _Entry, now: float) -> Counted:
        entry.failures += 1
        wait = SCHEDULES[table].wait(entry.failures)
        entry.free_at = now + (min(wait, _SHARED_MOST_SECONDS) if key == _SHARED else wait)
        entry.seen = now
        self._tables[table][key] = entry
        return key, entry.free_at

    def _forget(self, now: float) -> None:
        """Drop, at most once a second, what nobody has tried for so long that it does not count any more."""
        if now - self._forgot < 1:
            return
        self._forgot = now
        for table, schedule in SCHEDULES.items():
            kept = {key: e for key, e in self._tables[table].items() if now - e.seen < schedule.memory_seconds}
            self._tables[table] = kept
