"""Budgets: one source cannot take everything, and all together cannot take more than there is."""

from __future__ import annotations

import pytest

from negotiator.services.budgets import Budgets, OverBudgetError
from tests.support.time import StillClock


def spend(budgets: Budgets, source: str) -> bool:
    try:
        budgets.spend(source)
    except OverBudgetError:
        return False
    return True


def test_one_source_has_its_minute() -> None:
    clock = StillClock()
    budgets = Budgets(clock, per_minute=3, per_second=1000)
    assert [spend(budgets, "a") for _ in range(4)] == [True, True, True, False]
    assert spend(budgets, "b")
    clock.advance(20)
    assert [spend(budgets, "a") for _ in range(2)] == [True, False]


def test_all_sources_share_a_second() -> None:
    clock = StillClock()
    budgets = Budgets(clock, per_minute=1000, per_second=2)
    assert [spend(budgets, f"s{n}") for n in range(5)] == [True] * 4 + [False]
    clock.advance(1)
    assert [spend(budgets, f"t{n}") for n in range(3)] == [True, True, False]


def test_the_refusal_says_when_to_come_back() -> None:
    budgets = Budgets(StillClock(), per_minute=2, per_second=1000)
    budgets.spend("a")
    budgets.spend("a")
    with pytest.raises(OverBudgetError) as caught:
        budgets.spend("a")
    assert (caught.value.code, caught.value.retry_after_seconds) == ("over_budget", 30)


def test_many_sources_do_not_grow_the_table_without_bound() -> None:
    budgets = Budgets(StillClock(), per_minute=1, per_second=10**9)
    spent = sum(spend(budgets, f"source-{n}") for n in range(10_050))
    assert spent == 10_001, "beyond the bound, unseen sources share one bucket"
