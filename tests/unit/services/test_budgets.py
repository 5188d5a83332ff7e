"""Budgets: nobody can take everything, and all together cannot take more than there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from negotiator.model.budgets import Limits
from negotiator.services.budgets import Buckets, Budgets, OverBudgetError, Payment
from negotiator.services.suppressed import Suppressed
from tests.support.time import StillClock

PLENTY = 1_000_000
LIMITS = Limits(
    declarations_per_source_and_minute=PLENTY,
    declarations_per_second=PLENTY,
    declarations_per_agent_and_minute=PLENTY,
    requests_per_source_and_minute=PLENTY,
    requests_per_agent_and_minute=PLENTY,
    refusals_per_source_and_minute=PLENTY,
)


def budgets_of(clock: StillClock, **limits: int) -> Budgets:
    return Budgets(clock, replace(LIMITS, **limits), Suppressed())


def spends(spend: Callable[[], None]) -> bool:
    try:
        spend()
    except OverBudgetError:
        return False
    return True


def test_one_source_has_its_minute() -> None:
    clock = StillClock()
    budgets = budgets_of(clock, declarations_per_source_and_minute=3)
    assert [spends(lambda: budgets.spend_declaration("192.0.2.1")) for _ in range(4)] == [True, True, True, False]
    assert spends(lambda: budgets.spend_declaration("192.0.2.2"))
    clock.advance(20)
    assert [spends(lambda: budgets.spend_declaration("192.0.2.1")) for _ in range(2)] == [True, False]


def test_a_network_of_one_customer_is_one_source() -> None:
    budgets = budgets_of(StillClock(), declarations_per_source_and_minute=1)
    assert spends(lambda: budgets.spend_declaration("2001:db8::1"))
    assert not spends(lambda: budgets.spend_declaration("2001:db8::ffff:2"))
    assert spends(lambda: budgets.spend_declaration("2001:db8:0:1::1"))
    assert spends(lambda: budgets.spend_declaration("192.0.2.1"))
    assert not spends(lambda: budgets.spend_declaration("::ffff:192.0.2.1"))


def test_all_sources_share_a_second() -> None:
    clock = StillClock()
    budgets = budgets_of(clock, declarations_per_second=2)
    assert [spends(lambda n=n: budgets.spend_declaration(f"192.0.2.{n}")) for n in range(5)] == [True] * 4 + [False]
    clock.advance(1)
    assert [spends(lambda n=n: budgets.spend_declaration(f"192.0.2.{n}")) for n in range(3)] == [True, True, False]


def test_an_agent_has_its_own_budget_wherever_it_comes_from() -> None:
    budgets = budgets_of(StillClock(), requests_per_agent_and_minute=1, requests_per_source_and_minute=1)
    assert spends(lambda: budgets.spend_request("a1", "192.0.2.1"))
    assert not spends(lambda: budgets.spend_request("a1", "192.0.2.2"))
    assert spends(lambda: budgets.spend_request("a2", "192.0.2.1"))
    assert spends(lambda: budgets.spend_request("", "192.0.2.1"))
    assert not spends(lambda: budgets.spend_request("", "192.0.2.1"))


def test_the_refusal_says_when_to_come_back() -> None:
    budgets = budgets_of(StillClock(), declarations_per_source_and_minute=2)
    for _ in range(2):
        budgets.spend_declaration("192.0.2.1")
    with pytest.raises(OverBudgetError) as caught:
        budgets.spend_declaration("192.0.2.1")
    assert (caught.value.code, caught.value.retry_after_seconds) == ("over_budget", 30)


def test_every_refusal_is_counted() -> None:
    suppressed = Suppressed()
    budgets = Budgets(StillClock(), replace(LIMITS, declarations_per_source_and_minute=1), suppressed)
    for _ in range(5):
        spends(lambda: budgets.spend_declaration("192.0.2.1"))
    budgets.too_many_live("192.0.2.1", most=3)
    assert suppressed.waiting() == 5


def test_the_first_refusals_of_a_stranger_have_entries_and_the_others_are_counted() -> None:
    clock, suppressed = StillClock(), Suppressed()
    budgets = Budgets(clock, replace(LIMITS, refusals_per_source_and_minute=2), suppressed)
    said = [budgets.has_entry("refused", "192.0.2.1", verified=False) for _ in range(4)]
    assert said == [True, True, False, False]
    assert all(budgets.has_entry("refused", "192.0.2.1", verified=True) for _ in range(9)), "agents' all have one"
    assert suppressed.waiting() == 2
    clock.advance(30)
    assert budgets.has_entry("refused", "192.0.2.1", verified=False)


def test_no_refusal_of_strangers_need_have_an_entry() -> None:
    budgets = budgets_of(StillClock(), refusals_per_source_and_minute=0)
    assert not budgets.has_entry("refused", "192.0.2.1", verified=False)


def test_many_sources_do_not_grow_the_table_without_bound() -> None:
    buckets = Buckets(StillClock(), per_second=1 / 60, burst=1)
    spent = sum(not buckets.take(f"source-{n}") for n in range(10_050))
    assert spent == 10_001, "beyond the bound, unseen sources share one bucket"
    assert len(buckets) == 10_001


def test_idle_spenders_are_forgotten() -> None:
    clock = StillClock()
    buckets = Buckets(clock, per_second=1, burst=10)
    for n in range(100):
        buckets.take(f"source-{n}")
    clock.advance(11)
    buckets.take("another")
    assert len(buckets) == 1


def test_a_request_pays_once_however_often_it_is_decided() -> None:
    paid: list[str] = []
    payment = Payment(paid.append)
    payment.make("a1")
    payment.make("a1")
    assert paid == ["a1"]
