"""People in the store: what is read back, and what is claimed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from negotiator.model.people import Assurance, FactorKind
from tests.support.stores import HASH, START, factor, password, person, session

OTHER = "cd" * 32


@pytest.fixture
async def peopled(store):
    """A store with one account, which has a password."""
    await store.transact(lambda tx: tx.people.add(person(), password()))
    return store


async def test_everything_comes_back_as_it_was(peopled):
    key = factor("f2", credential_id="QUJD", counter=2**40, used_at=START)
    opened = session(
        assurance=Assurance.WEBAUTHN, bound_object=OTHER, bound_at=START + timedelta(microseconds=1), ended_at=START
    )

    def unit(tx):
        assert tx.people.add_factor(factor())
        assert tx.people.add_factor(key)
        tx.people.add_session(opened)

    await peopled.transact(unit)

    def check(reader):
        assert reader.people.all() == (person(),)
        assert reader.people.get("u1") == reader.people.named("ada") == person()
        assert reader.people.password("u1") == password()
        assert reader.people.factors("u1") == (factor(), key)
        assert reader.people.factors("u1")[1].kind is FactorKind.WEBAUTHN
        assert reader.people.session(HASH) == opened
        assert reader.people.session(HASH).assurance is Assurance.WEBAUTHN
        nothing = reader.people.get("u2"), reader.people.named("ADA"), reader.people.password("u2")
        assert nothing == (None, None, None)
        assert reader.people.session(OTHER) is None
        return True

    assert await peopled.read(check)


async def test_nobody_has_roles_by_accident(store):
    await store.transact(lambda tx: tx.people.add(replace(person(), roles=frozenset()), password()))
    assert await store.read(lambda reader: reader.people.get("u1").roles) == frozenset()


async def test_a_name_is_given_once(peopled):
    gone = replace(person(), disabled_at=START)
    await peopled.transact(lambda tx: tx.people.change(gone))
    assert not await peopled.transact(lambda tx: tx.people.add(person("u2"), password("u2")))
    assert await peopled.read(lambda reader: reader.people.all()) == (gone,)


async def test_a_change_is_of_roles_and_of_being_disabled(peopled):
    await peopled.transact(
        lambda tx: tx.people.change(replace(person(), roles=frozenset({"auditor"}), disabled_at=START, locale="es"))
    )
    found = await peopled.read(lambda reader: reader.people.get("u1"))
    assert found == replace(person(), roles=frozenset({"auditor"}), disabled_at=START)


async def test_a_one_time_password_is_spent_once(peopled):
    def unit(tx):
        return [
            tx.people.claim_password("u1", "v1"),
            tx.people.spend_password("u1", "other"),
            tx.people.spend_password("u1", "v1"),
            tx.people.spend_password("u1", "v1"),
            tx.people.claim_password("u1", "v1"),
        ]

    assert await peopled.transact(unit) == [True, False, True, False, False]
    await peopled.transact(lambda tx: tx.people.set_password(replace(password(), verifier="v2", spent=True)))
    assert await peopled.transact(lambda tx: tx.people.claim_password("u1", "v2"))


async def test_a_lasting_password_is_claimed_and_never_spent(peopled):
    await peopled.transact(lambda tx: tx.people.set_password(password(one_time=False)))

    def unit(tx):
        return tx.people.spend_password("u1", "v1"), tx.people.claim_password("u1", "v1")

    assert await peopled.transact(unit) == (False, True)


async def test_a_better_verifier_takes_the_place_of_the_one_it_was_made_from(peopled):
    def unit(tx):
        first = tx.people.rehash("u1", old="v1", new="v2")
        return first, tx.people.rehash("u1", old="v1", new="v3"), tx.people.password("u1").verifier

    assert await peopled.transact(unit) == (True, False, "v2")


async def test_a_counter_only_rises(peopled):
    await peopled.transact(lambda tx: tx.people.add_factor(factor()))

    def unit(tx):
        return [tx.people.advance_factor(factor(), step, START) for step in (5, 5, 4, 6)]

    assert await peopled.transact(unit) == [True, False, False, True]
    [found] = await peopled.read(lambda reader: reader.people.factors("u1"))
    assert (found.counter, found.used_at) == (6, START)


async def test_a_key_that_counts_cannot_stop_counting(peopled):
    await peopled.transact(lambda tx: tx.people.add_factor(factor()))

    def unit(tx):
        before = tx.people.use_factor(factor(), START)
        tx.people.advance_factor(factor(), 1, START)
        return before, tx.people.use_factor(factor(), START)

    assert await peopled.transact(unit) == (True, False)


async def test_a_security_key_belongs_to_one_account(peopled):
    key = factor("f1", credential_id="QUJD")

    def unit(tx):
        tx.people.add(person("u2", "eve"), password("u2"))
        return [
            tx.people.add_factor(each)
            for each in (
                key,
                factor("f2", "u2", credential_id="QUJD"),
                factor("f3", "u2"),
                factor("f4", "u2"),
                factor("f5", "u2", credential_id="QUJe"),
            )
        ]

    assert await peopled.transact(unit) == [True, False, True, True, True]


async def test_a_factor_is_removed_from_its_own_account_only(peopled):
    await peopled.transact(lambda tx: tx.people.add_factor(factor()))

    def unit(tx):
        return [tx.people.remove_factor(user, "f1") for user in ("u2", "u1", "u1")]

    assert await peopled.transact(unit) == [False, True, False]


async def test_a_session_is_claimed_until_it_ends(peopled):
    since = START - timedelta(hours=12)

    def unit(tx):
        tx.people.add_session(session())
        return [
            tx.people.claim_session(HASH, since=since),
            tx.people.claim_session(OTHER, since=since),
            tx.people.claim_session(HASH, since=START),
            tx.people.end_session(HASH, START),
            tx.people.end_session(HASH, START),
            tx.people.claim_session(HASH, since=since),
        ]

    assert await peopled.transact(unit) == [True, False, False, True, False, False]


async def test_whoever_is_disabled_has_no_session(peopled):
    def unit(tx):
        tx.people.add_session(session())
        tx.people.change(replace(person(), disabled_at=START))
        return tx.people.claim_session(HASH, since=START - timedelta(hours=1))

    assert await peopled.transact(unit) is False


async def test_all_sessions_of_one_account_end_together(peopled):
    def unit(tx):
        tx.people.add(person("u2", "eve"), password("u2"))
        for number, user in enumerate(("u1", "u1", "u2")):
            tx.people.add_session(session(f"{number:064x}", user, created_at=START + timedelta(seconds=number)))
        newest = [each.session_sha256 for each in tx.people.sessions("u1", since=START - timedelta(1))]
        return newest, tx.people.end_sessions("u1", START), tx.people.end_sessions("u1", START)

    assert await peopled.transact(unit) == ([f"{1:064x}", f"{0:064x}"], 2, 0)
    left = await peopled.read(lambda reader: reader.people.sessions("u2", since=START - timedelta(1)))
    assert len(left) == 1


async def test_use_is_noted_once_a_minute(peopled):
    at = START + timedelta(seconds=60)

    def touch(tx, at):
        return tx.people.touch_session(HASH, at=at, seen_before=at - timedelta(seconds=60))

    def unit(tx):
        tx.people.add_session(session())
        return [touch(tx, START + timedelta(seconds=59)), touch(tx, at), touch(tx, at)]

    assert await peopled.transact(unit) == [False, True, False]
    assert await peopled.read(lambda reader: reader.people.session(HASH).last_seen) == at


async def test_old_sessions_are_forgotten_the_oldest_first(peopled):
    def unit(tx):
        for number in range(4):
            tx.people.add_session(session(f"{number:064x}", created_at=START + timedelta(seconds=number)))
        before = START + timedelta(seconds=3)
        return [tx.people.forget_sessions(before=before, most=2) for _ in range(3)]

    assert await peopled.transact(unit) == [2, 1, 0]
    assert await peopled.read(lambda reader: reader.people.session(f"{3:064x}")) is not None
