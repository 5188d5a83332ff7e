"""The gate: one piece of work at a time, a short queue, then a refusal."""

from __future__ import annotations

import asyncio
import threading

import pytest

from negotiator.services.budgets import OverBudgetError
from negotiator.services.gate import Gate
from negotiator.services.suppressed import Suppressed


async def test_one_works_the_others_wait_and_what_is_more_is_refused_at_once() -> None:
    suppressed = Suppressed()
    gate = Gate(most=3, suppressed=suppressed)
    go_on, began, together, most_together = threading.Event(), threading.Event(), 0, 0

    def work() -> str:
        nonlocal together, most_together
        together += 1
        most_together = max(most_together, together)
        began.set()
        assert go_on.wait(60)
        together -= 1
        return "done"

    inside = [asyncio.ensure_future(gate.run(work, source="192.0.2.1")) for _ in range(3)]
    await asyncio.to_thread(began.wait, 60)
    with pytest.raises(OverBudgetError) as caught:
        await gate.run(work, source="192.0.2.1")
    assert (caught.value.code, gate.inside, suppressed.waiting()) == ("over_budget", 3, 1)
    go_on.set()
    assert await asyncio.gather(*inside) == ["done"] * 3
    assert (most_together, gate.inside) == (1, 0)


async def test_work_that_fails_leaves_the_gate_open() -> None:
    gate = Gate(most=1, suppressed=Suppressed())

    def broken() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await gate.run(broken, source="")
    assert await gate.run(lambda: "done", source="") == "done"


async def test_a_caller_that_leaves_gives_its_place_back() -> None:
    gate = Gate(most=2, suppressed=Suppressed())
    go_on = threading.Event()
    first = asyncio.ensure_future(gate.run(lambda: go_on.wait(60), source=""))
    second = asyncio.ensure_future(gate.run(lambda: True, source=""))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert gate.inside == 1
    go_on.set()
    assert await first
