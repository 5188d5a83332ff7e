"""How the writer's thread answers those who wait, on their event loops and in their threads.

Rules:

- One wake-up for each event loop and batch, not one for each unit.
- A caller that left (cancelled) or whose loop was closed is nobody's error: its unit was written all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Reply", "Result", "settle"]

Reply: TypeAlias = "asyncio.Future[Any] | Future[Any]"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a unit: a value, or an error."""

    value: Any = None
    error: BaseException | None = None


def settle(answers: Sequence[tuple[Reply, Result]]) -> None:
    """Give every caller its result. Called on the writer's thread."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Reply, Result]]] = {}
    for reply, result in answers:
        if isinstance(reply, Future):
            _give(reply, result)
        else:
            by_loop.setdefault(reply.get_loop(), []).append((reply, result))
    for loop, here in by_loop.items():
        with suppress(RuntimeError):  # the loop was closed: nobody waits there
            loop.call_soon_threadsafe(_give_all, here)


def _give_all(answers: Sequence[tuple[Reply, Result]]) -> None:
    for reply, result in answers:
        _give(reply, result)


def _give(reply: Reply, result: Result) -> None:
    if reply.done():
        return
    if result.error is None:
        reply.set_result(result.value)
    else:
        reply.set_exception(_raisable(result.error))


def _raisable(error: BaseException) -> BaseException:
    """Return `error`, or what stands for it where a future cannot carry it."""
    if isinstance(error, StopIteration):
        substitute = RuntimeError("a unit raised StopIteration")
        substitute.__cause__ = error
        return substitute
    return error
