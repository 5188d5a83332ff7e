"""Budgets in memory: token buckets, checked before anything is decoded, signed or queued.

Per process. Tables of spenders are bounded; when one is full, spenders that have not been seen share one bucket. They
may be spent from several threads at once. What is refused is counted (`suppressed`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from negotiator.errors import UnavailableError
from negotiator.model.budgets import Limits
from negotiator.model.sources import spender_of
from negotiator.ports import Clock
from negotiator.services.suppressed import Suppressed

__all__ = ["Buckets", "Budgets", "OverBudgetError", "Payment"]

_MAX_SPENDERS: Final = 10_000
_SHARED: Final = ""
_MINUTE: Final = 60.0


class OverBudgetError(UnavailableError):
    """The caller asked for more than its budget; nothing was done."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    seen: float


class Buckets:
    """One token bucket for each spender.

    Args:
        per_second: how fast a bucket fills.
        burst: how much it holds.
    """

    def __init__(self, clock: Clock, *, per_second: float, burst: float) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._buckets: dict[str, _Bucket] = {}
        self._forgot = clock.monotonic()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return how many spenders are known now."""
        return len(self._buckets)

    def take(self, spender: str) -> float:
        """Take one token and return 0; or take none and return the seconds until there is one."""
        with self._lock:
            now = self._clock.monotonic()
            self._forget_idle(now)
            bucket = self._bucket(spender, now)
            bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.seen) * self._per_second)
            bucket.seen = now
            if bucket.tokens < 1:
                return (1 - bucket.tokens) / self._per_second if self._per_second else _MINUTE
            bucket.tokens -= 1
            return 0.0

    def _bucket(self, spender: str, now: float) -> _Bucket:
        found = self._buckets.get(spender)
        if found is None:
            key = spender if len(self._buckets) < _MAX_SPENDERS else _SHARED
            found = self._buckets.setdefault(key, _Bucket(tokens=self._burst, seen=now))
        return found

    def _forget_idle(self, now: float) -> None:
        """Drop, at most once a second, the buckets that are full again: forgetting those changes nothing."""
        if now - self._forgot < 1:
            return
        self._forgot = now
        full_after = self._burst / self._per_second if self._per_second else _MINUTE
        self._buckets = {name: bucket for name, bucket in self._buckets.items() if now - bucket.seen < full_after}


class Budgets:
    """What callers may spend.

    Each method raises `OverBudgetError`, `over_budget`, with the seconds until there is room again.
    """

    def __init__(self, clock: Clock, limits: Limits, suppressed: Suppressed) -> None:
        self._suppressed = suppressed
        self._everybody = Buckets(
            clock, per_second=limits.declarations_per_second, burst=2 * limits.declarations_per_second
        )
        self._declarations = _a_minute(clock, limits.declarations_per_source_and_minute)
        self._agents_declarations = _a_minute(clock, limits.declarations_per_agent_and_minute)
        self._refusals = _a_minute(clock, limits.refusals_per_source_and_minute)
        self._requests = _a_minute(clock, limits.requests_per_source_and_minute)
        self._agents_requests = _a_minute(clock, limits.requests_per_agent_and_minute)
        self._tables = (
            self._declarations,
            self._agents_declarations,
            self._refusals,
            self._requests,
            self._agents_requests,
        )

    def spend_declaration(self, source: str) -> None:
        """Pay for a declaration of a stranger, or for a validation."""
        wait = self._declarations.take(spender_of(source)) or self._everybody.take("")
        self._settle(wait, source)

    def spend_agents_declaration(self, agent_id: str, source: str) -> None:
        """Pay for a declaration of an identified agent."""
        self._settle(self._agents_declarations.take(agent_id), source)

    def spend_request(self, agent_id: str, source: str) -> None:
        """Pay for a governed request; `agent_id` is empty for a stranger's."""
        if agent_id:
            self._settle(self._agents_requests.take(agent_id), source)
        else:
            self._settle(self._requests.take(spender_of(source)), source)

    def too_many_live(self, source: str, *, most: int) -> OverBudgetError:
        """Count and return the refusal of an agent that has all the live negotiations it may have."""
        self._suppressed.suppress("over_budget", source)
        message = f"this agent has {most} live negotiations; end or renew one"
        return OverBudgetError(message, code="over_budget", retry_after_seconds=int(_MINUTE))

    def has_entry(self, code: str, source: str, *, verified: bool) -> bool:
        """Whether a refusal is recorded by itself; where it is not, it has been counted."""
        if verified or not self._refusals.take(spender_of(source)):
            return True
        self._suppressed.suppress(code, source)
        return False

    def spenders(self) -> int:
        """Return how many buckets there are now."""
        return sum(map(len, self._tables))

    def _settle(self, wait_seconds: float, source: str) -> None:
        if wait_seconds:
            self._suppressed.suppress("over_budget", source)
            message = "the budget for this is spent; wait and try again"
            raise OverBudgetError(message, code="over_budget", retry_after_seconds=max(1, round(wait_seconds)))


class Payment:
    """What one request pays: once, when it is known who asks, however often the request is decided.

    Args:
        spend: takes the agent's id, empty for a stranger; raises `OverBudgetError`.
    """

    def __init__(self, spend: Callable[[str], None]) -> None:
        self._spend = spend
        self._due = True

    def make(self, agent_id: str) -> None:
        """Pay, unless that was done.

        Raises:
            OverBudgetError: `over_budget`.
        """
        if self._due:
            self._spend(agent_id)
            self._due = False


def _a_minute(clock: Clock, amount: int) -> Buckets:
    return Buckets(clock, per_second=amount / _MINUTE, burst=amount)
