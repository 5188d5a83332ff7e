"""A one-time code is shown again: later, at the same time, in another session, or after it was seen over a shoulder."""

from __future__ import annotations

import asyncio

import pytest

from negotiator.errors import RequestError
from tests.support.people import SOURCE, code_of, people_house


@pytest.fixture
def house(database_url):
    with people_house(database_url) as built:
        built.add()
        yield built


async def refused(awaitable) -> None:
    with pytest.raises(RequestError) as caught:
        await awaitable
    assert caught.value.code == "factor_failed"


async def test_a_code_is_accepted_once(house):
    secret = house.add_totp()
    signed, thief = await house.signed_in(), await house.signed_in()
    code = code_of(secret, house.clock)
    stepped = await house.step_up.with_code(signed.presence, code, source=SOURCE)
    for presence in (stepped.presence, thief.presence):
        await refused(house.step_up.with_code(presence, code, source=SOURCE))
    house.clock.move(30)
    await refused(house.step_up.with_code(thief.presence, code, source=SOURCE))
    assert thief.presence.facts(house.clock.now()).assurance == 2
    assert len(house.entries("stepped_up")) == 1


async def test_the_neighbours_of_an_accepted_code_are_gone_with_it(house):
    secret = house.add_totp()
    signed, thief = await house.signed_in(), await house.signed_in()
    await house.step_up.with_code(signed.presence, code_of(secret, house.clock, steps=1), source=SOURCE)
    for steps in (-1, 0, 1):
        code = code_of(secret, house.clock, steps=steps)
        await refused(house.step_up.with_code(thief.presence, code, source=f"203.0.113.{steps + 10}"))


async def test_of_two_at_the_same_time_one_is_accepted(house):
    secret = house.add_totp()
    sessions = [await house.signed_in() for _ in range(3)]
    code = code_of(secret, house.clock)
    answers = await asyncio.gather(
        *(house.step_up.with_code(each.presence, code, source=SOURCE) for each in sessions), return_exceptions=True
    )
    failures = [each for each in answers if isinstance(each, RequestError)]
    assert (len(answers), [each.code for each in failures]) == (3, ["factor_failed"] * 2)
    assert len(house.entries("stepped_up")) == 1


async def test_a_session_that_failed_its_code_is_still_only_what_it_was(house):
    secret = house.add_totp()
    signed = await house.signed_in()
    await refused(house.step_up.with_code(signed.presence, "000000", source=SOURCE))
    found = await house.sessions.presence(signed.session_id)
    assert found.facts(house.clock.now()).assurance == 2
    assert await house.step_up.with_code(signed.presence, code_of(secret, house.clock), source=SOURCE)


async def test_somebody_elses_code_opens_nothing(house):
    house.add("eve", "approver")
    secret = house.add_totp("ada")
    house.add_totp("eve")
    eve = await house.signed_in("eve")
    await refused(house.step_up.with_code(eve.presence, code_of(secret, house.clock), source=SOURCE))


async def test_a_factor_that_was_moved_to_another_account_does_not_open(house, database_url):
    """Somebody who can write to the database gives themself another account's factor."""
    house.add("eve", "approver")
    secret = house.add_totp("ada")
    house.add_totp("eve")
    stolen = house.accounts.account("ada").factors[0].secret
    planted = house.accounts.account("eve").factors[0]

    def swap(tx):
        tx.people.remove_factor(planted.user_id, planted.factor_id)
        return tx.people.add_factor(
            type(planted)(
                factor_id=planted.factor_id,
                user_id=planted.user_id,
                kind=planted.kind,
                label=planted.label,
                secret=stolen,
                credential_id="",
                counter=0,
                created_at=planted.created_at,
            )
        )

    assert house.store.transact_sync(swap)
    eve = await house.signed_in("eve")
    with pytest.raises(Exception, match="a sealed secret does not open") as caught:
        await house.step_up.with_code(eve.presence, code_of(secret, house.clock), source=SOURCE)
    assert caught.value.code == "secret_unreadable"
