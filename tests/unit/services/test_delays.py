"""How waits grow, end, and stay bounded."""

from __future__ import annotations

import pytest

from negotiator.services import delays as delays_module
from negotiator.services.delays import SCHEDULES, Delays, SignInDelayedError
from negotiator.services.suppressed import Suppressed
from tests.support.stores import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def delays(clock: HandClock) -> Delays:
    return Delays(clock, Suppressed())


def wait(delays: Delays, **keys: str) -> int:
    """Return how long an attempt has to wait; one that need not is begun, and fails."""
    try:
        delays.begin(**{"source": "192.0.2.1", **keys})
    except SignInDelayedError as delayed:
        return delayed.retry_after_seconds
    return 0


@pytest.mark.parametrize("table", list(SCHEDULES))
def test_waits_double_up_to_their_bound(table):
    schedule = SCHEDULES[table]
    waits = [schedule.wait(failures) for failures in range(schedule.free + 40)]
    assert waits[: schedule.free + 4] == [0.0] * (schedule.free + 1) + [1.0, 2.0, 4.0]
    assert waits == sorted(waits)
    assert waits[-1] == schedule.most_seconds


def test_an_account_waits_wherever_the_attempts_come_from(delays, clock):
    assert [wait(delays, account="ada", source=f"192.0.2.{number}") for number in range(5)] == [0, 0, 0, 0, 1]
    assert wait(delays, account="eve") == 0
    clock.move(1)
    assert wait(delays, account="ada") == 0
    assert wait(delays, account="ada") == 2


def test_a_source_waits_whatever_it_tries_with_all_of_its_network(delays):
    network = [f"2001:db8::{number:x}" for number in range(12)]
    waits = [wait(delays, account=f"name{number}", source=source) for number, source in enumerate(network)]
    assert waits == [0] * 11 + [1]
    assert wait(delays, account="other", source="2001:db8:1::1") == 0


def test_an_owner_waits_at_most_half_a_minute(delays, clock):
    for number in range(40):
        clock.move(60)
        wait(delays, account="ada", source=f"198.51.100.{number}")
    assert wait(delays, account="ada", source="203.0.113.1") == 30


def test_success_forgets_the_account_and_not_the_source(delays, clock):
    for _ in range(9):
        clock.move(31)
        wait(delays, account="ada", source="192.0.2.9")
    clock.move(31)
    delays.begin(account="ada", source="192.0.2.9").succeeded()
    assert wait(delays, account="ada", source="203.0.113.1") == 0
    assert [wait(delays, account=f"n{number}", source="192.0.2.9") for number in range(3)] == [0, 0, 1]


def test_what_was_not_looked_at_does_not_count(delays):
    for _ in range(100):
        delays.begin(account="ada", source="192.0.2.9").abandoned()
    assert len(delays) == 0
    assert wait(delays, account="ada") == 0


def test_an_attempt_that_is_taken_back_leaves_the_waits_of_later_ones(delays, clock):
    for _ in range(4):
        wait(delays, account="ada", source="192.0.2.9")
    clock.move(1)
    first = delays.begin(account="ada", source="192.0.2.9")
    clock.move(2)
    wait(delays, account="ada", source="192.0.2.9")
    first.abandoned()
    assert wait(delays, account="ada", source="192.0.2.9") == 4


def test_attempts_at_the_same_time_count_from_their_beginning(delays):
    begun = [wait(delays, account="ada", source=f"192.0.2.{number}") for number in range(50)]
    assert begun.count(0) == 4


def test_everything_is_forgotten_after_a_while(delays, clock):
    for _ in range(4):
        wait(delays, account="ada", factor="u1")
    clock.move(86_401)
    wait(delays, source="203.0.113.1")
    assert len(delays) == 1


def test_a_full_table_makes_strangers_share_a_short_wait(delays, clock, monkeypatch):
    monkeypatch.setattr(delays_module, "_MAX_KEYS", 10)
    wait(delays, account="ada", source="192.0.2.1")
    for number in range(500):
        clock.move(6)
        wait(delays, account=f"name{number}", source=f"10.0.{number % 250}.{number // 250}")
        assert len(delays) <= 2 * 11
    assert 0 < wait(delays, account="nobody", source="203.0.113.5") <= 5
    clock.move(5)
    assert wait(delays, account="ada", source="192.0.2.1") == 0
