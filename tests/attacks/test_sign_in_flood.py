"""Passwords are tried by the thousand: from one place, from many, at the same time, for names that nobody has."""

from __future__ import annotations

import asyncio
import tracemalloc
from contextlib import suppress

import pytest

from negotiator.errors import NegotiatorError, RequestError
from negotiator.services.delays import SignInDelayedError
from negotiator.services.gate import Gate
from tests.support.people import HOST, PASSWORD, people_house


@pytest.fixture
def house(database_url):
    with people_house(database_url) as built:
        built.add()
        yield built


async def tried(house, name: str, *, source: str, password: str = "wrong password") -> str:
    try:
        await house.sessions.sign_in(name, password, source=source)
    except NegotiatorError as error:
        return error.code
    return "signed_in"


async def test_fifty_at_once_are_no_way_round_the_delay(house):
    tries = [tried(house, "ada", source=f"198.51.100.{number}") for number in range(50)]
    answers = await asyncio.gather(*tries)
    assert sorted(set(answers)) == ["sign_in_delayed", "sign_in_failed"]
    assert answers.count("sign_in_failed") == 4
    assert house.slow.passed == 4


async def test_from_one_place_a_hundred_names_are_not_a_hundred_tries(house):
    answers = [await tried(house, f"name{number}", source="192.0.2.7") for number in range(100)]
    assert answers.count("sign_in_failed") == 11
    assert set(answers[11:]) == {"sign_in_delayed"}


async def test_a_delay_tells_nothing_about_names(house):
    known = [await tried(house, "ada", source=f"198.51.100.{number}") for number in range(8)]
    unknown = [await tried(house, "nobody", source=f"203.0.113.{number}") for number in range(8)]
    assert known == unknown
    assert "sign_in_delayed" in known


async def test_the_owner_gets_in_while_strangers_go_on(house):
    for number in range(200):
        await tried(house, "ada", source=f"10.{number // 250}.{number % 250}.1")
        house.clock.move(0.5)
    house.clock.move(30)
    assert await tried(house, "ada", source="203.0.113.5", password=PASSWORD) == "signed_in"


async def test_the_right_password_does_not_pass_a_delay_either(house):
    while await tried(house, "ada", source="192.0.2.7") == "sign_in_failed":
        pass
    with pytest.raises(SignInDelayedError) as caught:
        await house.sessions.sign_in("ada", PASSWORD, source="192.0.2.8")
    assert caught.value.retry_after_seconds == 1
    house.clock.move(1)
    assert await tried(house, "ada", source="192.0.2.8", password=PASSWORD) == "signed_in"


async def test_memory_and_ledger_stay_bounded(house):
    entries = len(house.entries())
    tracemalloc.start()
    try:
        for number in range(25_000):
            with suppress(SignInDelayedError):
                source = f"10.{number // 65_536}.{number // 256 % 256}.{number % 256}"
                house.delays.begin(source=source, account=f"n{number}")
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(house.delays) <= 2 * 10_001
    assert taken < 12_000_000
    for number in range(20):
        house.clock.move(number % 2 * 5)
        await tried(house, f"x{number}", source=f"192.0.2.{number}")
    assert len(house.entries()) == entries
    house.store.transact_sync(house.suppressed.chore.unit)
    [counted] = house.entries("suppressed")
    assert {row["code"] for row in counted["counts"]} == {"sign_in_failed", "sign_in_delayed"}


async def test_hashing_waits_in_a_short_queue_and_refuses_the_rest(house):
    house.sessions._slow = Gate(most=4, suppressed=house.suppressed)
    tries = [tried(house, f"name{number}", source=f"198.51.100.{number}") for number in range(40)]
    answers = await asyncio.gather(*tries)
    assert set(answers) == {"over_budget", "sign_in_failed"}
    assert 4 <= answers.count("sign_in_failed") < 40
    assert await tried(house, "ada", source="203.0.113.5", password=PASSWORD) == "signed_in"


async def test_a_first_password_that_is_used_twice_at_once_opens_one_session(house):
    given = house.accounts.add("eve", roles=["approver"], by=HOST).one_time_password
    answers = await asyncio.gather(
        *(tried(house, "eve", source=f"198.51.100.{number}", password=given) for number in range(3))
    )
    assert sorted(answers) == ["sign_in_failed", "sign_in_failed", "signed_in"]


async def test_a_client_that_leaves_has_failed(house):
    for number in range(4):
        task = asyncio.create_task(house.sessions.sign_in("ada", "wrong", source=f"198.51.100.{number}"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises((asyncio.CancelledError, RequestError)):
            await task
    assert await tried(house, "ada", source="203.0.113.1") == "sign_in_delayed"
