"""Budgets: how much unauthenticated work one source, and all sources together, may cause.

In memory and per process: a budget is checked before anything is decoded, signed or queued, so it must cost nothing.
The table of sources is bounded; when it is full, sources that have not been seen share one bucket. It may be spent from
several threads at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from negotiator.errors import UnavailableError
from negotiator.ports import Clock

__all__ = ["Budgets", "OverBudgetError"]

_MAX_SOURCES = 10_000
_SHARED = ""


class OverBudgetError(UnavailableError):
    """The caller asked for more than its budget; nothing was done."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    seen: float


class Budgets:
    """Token buckets: one per source and one for all.

    Args:
        per_minute: what one source may do in a minute; also its burst.
        per_second: what all sources together may do in a second; the burst is twice that.
    """

    def __init__(self, clock: Clock, *, per_minute: int, per_second: int) -> None:
        self._clock = clock
        self._per_minute = per_minute
        self._per_second = per_second
        self._all = _Bucket(tokens=2.0 * per_second, seen=clock.monotonic())
        self._sources: dict[str, _Bucket] = {}
        self._forgot = clock.monotonic()
        self._lock = Lock()

    def spend(self, source: str) -> None:
        """Take one unit from the bucket of `source` and from the common one.

        Raises:
            OverBudgetError: `over_budget`, with the seconds until one unit is there again.
        """
        with self._lock:
            self._spend(source)

    def _spend(self, source: str) -> None:
        now = self._clock.monotonic()
        own = self._bucket(source, now)
        _refill(own, now, rate=self._per_minute / 60, most=self._per_minute)
        _refill(self._all, now, rate=self._per_second, most=2 * self._per_second)
        if own.tokens < 1:
            _refuse(60 / self._per_minute)
        if self._all.tokens < 1:
            _refuse(1)
        own.tokens -= 1
        self._all.tokens -= 1

    def _bucket(self, source: str, now: float) -> _Bucket:
        bucket = self._sources.get(source)
        if bucket is None:
            if len(self._sources) >= _MAX_SOURCES:
                self._forget_idle(now)
            name = source if len(self._sources) < _MAX_SOURCES else _SHARED
            bucket = self._sources.setdefault(name, _Bucket(tokens=float(self._per_minute), seen=now))
        return bucket

    def _forget_idle(self, now: float) -> None:
        """Drop, at most once a second, the sources whose bucket is full again: forgetting those changes nothing."""
        if now - self._forgot < 1:
            return
        self._forgot = now
        self._sources = {name: bucket for name, bucket in self._sources.items() if now - bucket.seen < 60}


def _refill(bucket: _Bucket, now: float, *, rate: float, most: float) -> None:
    bucket.tokens = min(most, bucket.tokens + (now - bucket.seen) * rate)
    bucket.seen = now


def _refuse(wait_seconds: float) -> None:
    message = "the budget for declarations and checks is spent; wait and try again"
    raise OverBudgetError(message, code="over_budget", retry_after_seconds=max(1, round(wait_seconds)))
