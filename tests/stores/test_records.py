"""What is read back equals what was written."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from types import MappingProxyType

import pytest

from negotiator.model.facts import AgentFacts, DeclaredFacts
from tests.support.stores import START, appending, negotiation, proposal


async def test_a_negotiation_comes_back_whole_and_in_order(store):
    await store.transact(lambda tx: tx.negotiations.add(negotiation()))
    found = await store.read(lambda reader: reader.negotiations.get("n1"))
    assert found == negotiation()
    assert list(found.body) == ["z", "a", "m"]
    assert isinstance(found.declared.declared_evidence, frozenset)
    assert await store.read(lambda reader: reader.negotiations.get("n2")) is None


async def test_an_anonymous_negotiation_with_zero_facts_comes_back_whole(store):
    anonymous = negotiation(
        identity_kind="anonymous",
        credential_id="",
        strict=True,
        principal=AgentFacts(subject="anon:n1"),
        declared=DeclaredFacts(),
    )
    await store.transact(lambda tx: tx.negotiations.add(anonymous))
    assert await store.read(lambda reader: reader.negotiations.get("n1")) == anonymous


async def test_an_answer_may_be_made_of_any_mapping_and_sequence(store):
    body = MappingProxyType({"actions": MappingProxyType({"post": ("a", "b")}), "levels": deque([1])})
    await store.transact(lambda tx: tx.negotiations.add(negotiation(body=body)))
    found = await store.read(lambda reader: reader.negotiations.get("n1"))
    assert found.body == {"actions": {"post": ["a", "b"]}, "levels": [1]}


@pytest.mark.parametrize("value", [object(), b"bytes", 1j, 2**64])
async def test_what_json_does_not_have_is_refused_before_anything_is_written(store, value):
    with pytest.raises(TypeError):
        await store.transact(lambda tx: tx.negotiations.add(negotiation(body={"x": value})))
    assert await store.read(lambda reader: reader.negotiations.get("n1")) is None


async def test_a_negotiation_is_live_until_it_ends_or_expires(store, clock):
    long, short = negotiation("n1"), negotiation("n2", expires_at=START + timedelta(seconds=5))

    async def live(at):
        return await store.read(lambda reader: [reader.negotiations.is_live(name, at) for name in ("n1", "n2", "n3")])

    await store.transact(lambda tx: [tx.negotiations.add(each) for each in (long, short)])
    assert await live(START) == [True, True, False]
    assert await live(START + timedelta(seconds=5)) == [True, False, False]
    await store.transact(lambda tx: tx.negotiations.end("n1", tx.now))
    assert await live(START) == [False, True, False]


async def test_an_identical_declaration_is_found_while_it_lives(store, clock):
    older = negotiation("n1")
    newer = negotiation("n2", issued_at=START + timedelta(seconds=1))
    strict = negotiation("n3", strict=True)
    foreign = negotiation("n4", credential_id="c2")

    def add(tx):
        for each in (older, newer, strict, foreign):
            tx.negotiations.add(each)

    await store.transact(add)

    def identical(at):
        return store.read_sync(
            lambda reader: reader.negotiations.identical(credential_id="c1", digest=older.digest, strict=False, at=at)
        )

    assert identical(START) == newer
    await store.transact(lambda tx: tx.negotiations.end("n2", START))
    assert identical(START) == older
    assert identical(older.expires_at) is None


async def test_lists_of_a_subject_are_newest_first_and_bounded(store):
    def add(tx):
        for number in range(101):
            at = START + timedelta(microseconds=number)
            tx.negotiations.add(negotiation(f"n{number}", issued_at=at))
            tx.proposals.add(proposal(f"p{number}", created_at=at))
        tx.proposals.add(proposal("foreign", subject="agent:a2"))

    await store.transact(add)
    live = await store.read(lambda reader: reader.negotiations.of_subject("agent:a1", START))
    filed = await store.read(lambda reader: reader.proposals.of_subject("agent:a1"))
    newest_first = list(range(100, 0, -1))
    assert [found.negotiation_id for found in live] == [f"n{number}" for number in newest_first]
    assert [found.proposal_id for found in filed] == [f"p{number}" for number in newest_first]


async def test_a_proposal_keeps_its_bytes(store):
    await store.transact(lambda tx: tx.proposals.add(proposal()))
    assert await store.read(lambda reader: reader.proposals.get("p1")) == proposal()


async def test_lines_are_given_by_range(store):
    def five(tx):
        for number in range(5):
            appending(n=number)(tx)

    await store.transact(five)
    everything = await store.read(lambda reader: list(reader.ledger.lines()))
    assert len(everything) == 5
    assert await store.read(lambda reader: list(reader.ledger.lines(start=1, stop=3))) == everything[1:3]
    assert await store.read(lambda reader: list(reader.ledger.lines(start=4, stop=9))) == everything[4:]


async def test_long_ledgers_are_read_in_pieces_without_gaps(store):
    def many(tx):
        for number in range(1_101):
            appending(n=number)(tx)

    await store.transact(many)
    indices = await store.read(lambda reader: [line.split(b'"n":')[1] for line in reader.ledger.lines()])
    assert len(indices) == len(set(indices)) == 1_101
