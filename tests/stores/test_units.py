"""A unit and its entry commit together or not at all, whatever its neighbours do."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from negotiator.errors import ClaimFailed, NegotiatorError, RequestError, UnavailableError
from negotiator.model.levels import Level
from negotiator.model.records import Closing, OutcomeEnd
from negotiator.ports import Lane
from negotiator.store import SqlStore
from tests.support.stores import (
    START,
    HandClock,
    agent,
    appending,
    credential,
    draft,
    handed_over,
    held_writer,
    intent,
    key_use,
    negotiation,
    proposal,
    verified,
)


def sizes(store: SqlStore) -> int:
    return store.read_sync(lambda reader: reader.ledger.size())


async def test_a_unit_returns_its_value_with_index_and_leaf_hash_of_its_entry(store):
    first = await store.transact(appending(n=1))
    second = await store.transact(appending(n=2))
    assert (first.index, second.index) == (0, 1)
    assert await store.read(lambda reader: reader.ledger.leaf_hash(1)) == second.leaf_hash
    assert await store.read(lambda reader: reader.ledger.leaf_hash(2)) is None


async def test_a_failed_unit_gives_its_indices_back_and_leaves_nothing(store):
    fact = "negotiation_live"

    def fails(tx):
        tx.append(draft(lost=1))
        tx.proposals.add(proposal())
        tx.append(draft(lost=2))
        raise ClaimFailed(fact)

    with pytest.raises(ClaimFailed) as caught:
        await store.transact(fails)
    assert caught.value.fact == "negotiation_live"
    assert (await store.transact(appending(kept=1))).index == 0
    assert await store.read(lambda reader: reader.proposals.get("p1")) is None
    assert verified(store).entries == 1


async def test_a_failed_unit_in_the_middle_of_a_batch_leaves_its_neighbours_intact(store):
    fact = "credential"

    def good(number):
        def unit(tx):
            position = tx.append(draft(n=number))
            tx.proposals.add(proposal(f"p{number}"))
            return position.index

        return unit

    def bad(tx):
        good(0)(tx)
        assert tx.proposals.get("p1") is not None
        raise ClaimFailed(fact)

    with held_writer(store):
        waiting = [asyncio.ensure_future(store.transact(unit)) for unit in (good(1), bad, good(2), bad, good(3))]
        await handed_over()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [answers[0], answers[2], answers[4]] == [0, 1, 2]
    assert isinstance(answers[1], ClaimFailed)
    assert isinstance(answers[3], ClaimFailed)
    found = await store.read(lambda reader: [reader.proposals.get(f"p{n}") is not None for n in range(4)])
    assert found == [False, True, True, True]
    assert verified(store).entries == 3


async def test_a_statement_that_fails_leaves_the_batch_standing(store):
    def duplicate(tx):
        tx.append(draft(n=0))
        tx.proposals.add(proposal("taken"))

    await store.transact(duplicate)
    with held_writer(store):
        waiting = [asyncio.ensure_future(store.transact(unit)) for unit in (appending(n=1), duplicate, appending(n=2))]
        await handed_over()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(answers[1], UnavailableError)
    assert answers[1].code == "ledger_unavailable"
    assert [answers[0].index, answers[2].index] == [1, 2]
    assert verified(store).entries == 3


async def test_two_hundred_units_at_once_make_one_chain(store):
    positions = await asyncio.gather(*(store.transact(appending(n=number)) for number in range(200)))
    assert [position.index for position in positions] == list(range(200))
    assert verified(store).entries == 200


async def test_an_entry_that_cannot_be_written_fails_its_unit_alone(store):
    cases = [
        (draft(index=7), "entry_reserved_member"),
        (draft(share=0.5), "entry_not_canonical"),
        (draft(text="x" * 300_000), "entry_too_large"),
        (draft(action="a" * 33), "text_not_storable"),
        (draft(decision_id="\ud800"), "entry_not_canonical"),
        (draft(decision_id="a\x00b"), "text_not_storable"),
    ]
    for bad, code in cases:
        with pytest.raises(NegotiatorError) as caught:
            await store.transact(lambda tx, bad=bad: tx.append(bad))
        assert caught.value.code == code
    assert (await store.transact(appending())).index == 0


async def test_lanes_decide_who_goes_first(store):
    def in_lane(lane):
        return asyncio.ensure_future(store.transact(appending(lane=lane.name), lane))

    with held_writer(store):
        waiting = [in_lane(lane) for lane in (Lane.DECLARATION, Lane.GOVERNED, Lane.OUTCOME, Lane.GOVERNED)]
        await handed_over()
    positions = await asyncio.gather(*waiting)
    assert [position.index for position in positions] == [3, 1, 0, 2]


async def test_the_time_of_entries_never_goes_back(store, clock: HandClock):
    clock.move(10)
    before = await store.transact(lambda tx: (tx.append(draft()), tx.now)[1])
    clock.wall = START
    after = await store.transact(lambda tx: (tx.append(draft()), tx.now)[1])
    assert after == before > START
    assert verified(store).entries == 2


async def test_projects_in_one_database_have_chains_of_their_own(file_url, open_site):
    here, there = open_site(file_url), open_site(file_url, project="other")
    await here.transact(appending(n=1))
    await there.transact(appending(n=2))
    await there.transact(lambda tx: tx.proposals.add(proposal()))
    assert sizes(here) == sizes(there) == 1
    assert here.read_sync(lambda reader: reader.proposals.get("p1")) is None


async def test_agents_are_added_once_for_each_name_and_revoked_with_their_credentials(store):
    assert await store.transact(lambda tx: tx.agents.add(agent(), credential()))
    assert not await store.transact(lambda tx: tx.agents.add(agent("a2"), credential("c2", "a2")))
    assert await store.read(lambda reader: reader.agents.with_credential("c1")) == (agent(), credential())
    assert await store.read(lambda reader: reader.agents.with_credential("c2")) is None
    revoked = await store.transact(lambda tx: tx.agents.revoke("crawler", START))
    assert revoked.revoked_at == START
    assert await store.transact(lambda tx: tx.agents.revoke("crawler", START)) is None
    stored_agent, stored_credential = await store.read(lambda reader: reader.agents.with_credential("c1"))
    assert stored_agent == revoked
    assert stored_credential.revoked_at == START
    assert await store.transact(lambda tx: tx.agents.add(agent("a2"), credential("c2", "a2")))
    assert await store.read(lambda reader: [found.agent_id for found in reader.agents.all()]) == ["a1", "a2"]
    assert (await store.read(lambda reader: reader.agents.named("crawler"))).agent_id == "a2"


@pytest.mark.parametrize(
    ("credential_id", "max_level", "revoked", "holds"),
    [
        ("c1", Level.L3, False, True),
        ("c1", Level.L4, False, False),
        ("c1", Level.L3, True, False),
        ("c9", Level.L3, False, False),
    ],
)
async def test_the_claim_of_a_credential(store, credential_id, max_level, revoked, holds):
    def prepare(tx):
        tx.agents.add(agent(), credential())
        if revoked:
            tx.agents.revoke("crawler", START)

    await store.transact(prepare)
    assert await store.transact(lambda tx: tx.agents.claim_credential(credential_id, max_level)) is holds


@pytest.mark.parametrize(
    ("negotiation_id", "seconds", "ended", "holds"),
    [
        ("n1", 3_599, False, True),
        ("n1", 3_600, False, False),
        ("n1", 1, True, False),
        ("n9", 1, False, False),
    ],
)
async def test_the_claim_of_a_negotiation(store, clock, negotiation_id, seconds, ended, holds):
    await store.transact(lambda tx: tx.negotiations.add(negotiation()))
    if ended:
        assert await store.transact(lambda tx: tx.negotiations.end("n1", tx.now))
        assert not await store.transact(lambda tx: tx.negotiations.end("n1", tx.now))
    clock.move(seconds)
    assert await store.transact(lambda tx: tx.negotiations.claim_live(negotiation_id, tx.now)) is holds


def closing(decision_id, end):
    return lambda tx: tx.intents.close(decision_id, end, START, called=True)


async def test_an_intent_has_one_outcome(store):
    await store.transact(lambda tx: tx.intents.open(intent()))
    assert await store.transact(lambda tx: tx.intents.get("d1")) == intent()
    assert await store.read(lambda reader: reader.intents.open_count()) == 1
    assert await store.transact(closing("d1", OutcomeEnd.COMPLETE)) is Closing.FIRST
    ended = replace(intent(), ended_at=START, end=OutcomeEnd.COMPLETE)
    assert await store.transact(lambda tx: tx.intents.get("d1")) == ended
    assert await store.transact(closing("d1", OutcomeEnd.ABORTED)) is Closing.NONE
    assert await store.transact(closing("d9", OutcomeEnd.ABORTED)) is Closing.NONE
    assert await store.read(lambda reader: (reader.intents.open_count(), reader.intents.unfinished())) == (0, ())


async def test_an_idempotency_key_is_taken_once_in_its_slot(store):
    assert await store.transact(lambda tx: tx.idempotency.take(key_use("d1"))) is None
    assert await store.transact(lambda tx: tx.idempotency.take(key_use("d2", fingerprint="cd" * 32))) == key_use("d1")
    for other in ({"subject": "agent:a2"}, {"method": "PUT"}, {"route": "POST /notes"}, {"key_sha256": "cd" * 32}):
        assert await store.transact(lambda tx, other=other: tx.idempotency.take(key_use("d3", **other))) is None


async def test_fifty_takers_of_one_key_at_once_have_one_winner(store):
    takers = (store.transact(lambda tx, n=n: tx.idempotency.take(key_use(f"d{n}"))) for n in range(50))
    answers = await asyncio.gather(*takers)
    assert answers.count(None) == 1
    assert {answer.decision_id for answer in answers if answer} == {f"d{answers.index(None)}"}


async def test_texts_that_a_database_would_cut_are_refused_before(store):
    with pytest.raises(RequestError) as caught:
        await store.transact(lambda tx: tx.agents.add(agent(name="n" * 201), credential()))
    assert caught.value.code == "text_not_storable"
    assert await store.read(lambda reader: reader.agents.all()) == ()
