"""Slots, answers and site credentials, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from negotiator.model.records import Closing, OutcomeEnd, Settled
from negotiator.store import statements
from tests.support.stores import START, intent, key_use, site_credential, stored_answer

LATER = START + timedelta(hours=2)


async def test_a_slot_is_taken_once_and_found_again(store):
    use = replace(key_use(), consumed=("has_consent",))
    assert await store.transact(lambda tx: tx.idempotency.take(use)) is None
    assert await store.transact(lambda tx: tx.idempotency.take(key_use("d2"))) == use
    assert await store.read(lambda reader: reader.idempotency.find(key_use("d3"))) == use
    for other in ("subject", "method", "route", "key_sha256"):
        slot = key_use(**{other: "another"})
        assert await store.read(lambda reader, slot=slot: reader.idempotency.find(slot)) is None


async def test_a_slot_passes_on_only_from_whom_it_belongs_to(store):
    await store.transact(lambda tx: tx.idempotency.take(key_use("d1")))
    second, third = key_use("d2", fingerprint="cd" * 32), key_use("d3")
    assert await store.transact(lambda tx: tx.idempotency.pass_on(second, decision_id="d1"))
    assert not await store.transact(lambda tx: tx.idempotency.pass_on(third, decision_id="d1"))
    assert await store.read(lambda reader: reader.idempotency.find(third)) == second


async def test_an_answer_comes_back_whole(store):
    await store.transact(lambda tx: tx.idempotency.keep(stored_answer()))
    assert await store.read(lambda reader: reader.idempotency.answer("d1")) == stored_answer()
    assert await store.read(lambda reader: reader.idempotency.answer("d2")) is None


async def test_what_is_old_is_forgotten_but_for_what_nobody_knows(store):
    ends = {
        "open": None,
        "known": OutcomeEnd.COMPLETE,
        "unknown": OutcomeEnd.INTERRUPTED,
        "settled": None,
        "none": None,
    }

    def fill(tx):
        for name in ends:
            tx.idempotency.take(key_use(name, key_sha256=name))
            tx.idempotency.keep(stored_answer(name))
            if name != "none":
                tx.intents.open(intent(name))
        tx.idempotency.take(replace(key_use("young", key_sha256="young"), used_at=LATER))
        tx.idempotency.keep(stored_answer("young", stored_at=LATER))
        tx.intents.close("known", OutcomeEnd.COMPLETE, START, called=True)
        for name in ("unknown", "settled"):
            assert tx.intents.interrupt(intent(name), START)
        assert tx.intents.settle("settled", Settled.DONE)

    def left(reader):
        names = (*ends, "young")
        return (
            {name for name in names if reader.idempotency.find(key_use(name, key_sha256=name))},
            {name for name in names if reader.idempotency.answer(name)},
        )

    await store.transact(fill)
    await store.transact(lambda tx: tx.idempotency.forget(START))
    assert await store.read(left) == ({*ends, "young"}, {*ends, "young"})
    await store.transact(lambda tx: tx.idempotency.forget(LATER))
    assert await store.read(left) == ({"open", "unknown", "young"}, {"young"})


async def test_a_bounded_number_is_forgotten_at_a_time_the_oldest_first(store):
    count = statements.MAX_FORGOTTEN + 3

    def fill(tx):
        for number in range(count):
            at = START + timedelta(microseconds=number)
            tx.idempotency.take(replace(key_use(f"d{number}", key_sha256=f"k{number}"), used_at=at))

    def left(reader):
        return [n for n in range(count) if reader.idempotency.find(key_use(key_sha256=f"k{n}"))]

    await store.transact(fill)
    await store.transact(lambda tx: tx.idempotency.forget(LATER))
    assert await store.read(left) == [count - 3, count - 2, count - 1]
    await store.transact(lambda tx: tx.idempotency.forget(LATER))
    assert await store.read(left) == []


async def test_an_effect_is_settled_once_and_only_where_nobody_knows(store):
    def settle(settled):
        return lambda tx: tx.intents.settle("d1", settled)

    await store.transact(lambda tx: tx.intents.open(intent()))
    assert not await store.transact(settle(Settled.DONE))
    await store.transact(lambda tx: tx.intents.interrupt(intent(), tx.now))
    assert await store.transact(settle(Settled.NOT_DONE))
    assert not await store.transact(settle(Settled.DONE))
    found = await store.read(lambda reader: reader.intents.get("d1"))
    assert (found.state, found.settled) == ("settled", Settled.NOT_DONE)
    assert await store.read(lambda reader: reader.intents.unfinished()) == ()


async def test_who_comes_late_to_a_settled_effect_knows_better(store):
    await store.transact(lambda tx: tx.intents.open(intent()))
    await store.transact(lambda tx: tx.intents.interrupt(intent(), tx.now))
    await store.transact(lambda tx: tx.intents.settle("d1", Settled.NOT_DONE))

    def close(tx):
        return tx.intents.close("d1", OutcomeEnd.COMPLETE, tx.now, called=True)

    assert await store.transact(close) is Closing.CONTRADICTED
    assert await store.transact(close) is Closing.NONE
    found = await store.read(lambda reader: reader.intents.get("d1"))
    assert (found.end, found.settled) == (OutcomeEnd.COMPLETE, Settled.DONE)


async def test_an_effect_whose_site_was_never_called_was_not_done(store):
    await store.transact(lambda tx: tx.intents.open(intent()))
    closed = await store.transact(lambda tx: tx.intents.close("d1", OutcomeEnd.ABORTED, tx.now, called=False))
    found = await store.read(lambda reader: reader.intents.get("d1"))
    assert (closed, found.settled, found.state) == (Closing.FIRST, Settled.NOT_DONE, "ended")


async def test_site_credentials(store):
    made = site_credential()
    assert await store.transact(lambda tx: tx.site_credentials.add(made))
    assert not await store.transact(lambda tx: tx.site_credentials.add(site_credential("s2")))
    assert await store.read(lambda reader: reader.site_credentials.get("s1")) == made
    assert await store.transact(lambda tx: tx.site_credentials.claim_active("s1"))
    revoked = await store.transact(lambda tx: tx.site_credentials.revoke("worker", LATER))
    assert revoked == replace(made, revoked_at=LATER)
    assert not await store.transact(lambda tx: tx.site_credentials.claim_active("s1"))
    assert await store.transact(lambda tx: tx.site_credentials.revoke("worker", LATER)) is None
    assert await store.transact(lambda tx: tx.site_credentials.add(site_credential("s2")))
    assert [each.credential_id for each in await store.read(lambda reader: reader.site_credentials.all())] == [
        "s1",
        "s2",
    ]
