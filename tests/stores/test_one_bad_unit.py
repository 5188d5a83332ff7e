"""One unit whose data the database refuses does not take its neighbours along."""

from __future__ import annotations

import asyncio

from negotiator.errors import UnavailableError
from tests.support.stores import appending, draft, handed_over, held_writer, proposal, verified


def twice(tx):
    """Hurt a primary key: the one way to make both databases refuse a unit's data."""
    tx.append(draft(n=-1))
    tx.proposals.add(proposal("p1"))
    tx.proposals.add(proposal("p1"))


async def test_the_one_at_fault_fails_alone(store):
    with held_writer(store):
        waiting = [asyncio.ensure_future(store.transact(unit)) for unit in (appending(n=1), twice, appending(n=2))]
        await handed_over()
    first, bad, second = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(bad, UnavailableError)
    assert [first.index, second.index] == [0, 1]
    assert verified(store).entries == 2
    assert await store.read(lambda reader: reader.proposals.of_subject("agent:a1")) == ()
