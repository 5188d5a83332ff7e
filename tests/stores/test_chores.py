"""Chores run in the writer's batches, when their time has come."""

from __future__ import annotations

import logging

from negotiator.ports import Chore
from tests.support.stores import appending, draft, verified


class ClumsyError(Exception):
    def __str__(self):
        return "it fell"


def noting(name: str, **options) -> tuple[Chore, list[int]]:
    runs: list[int] = []

    def unit(tx):
        runs.append(tx.append(draft(chore=name)).index)

    return Chore(name=name, every_seconds=10, unit=unit, **options), runs


async def test_a_chore_runs_at_once_and_then_after_each_pause(url, open_site, clock):
    store = open_site(url)
    chore, runs = noting("sweep")
    store.attend(chore)
    for seconds, wanted in ((0, 1), (9.9, 1), (0.1, 2), (0, 2), (10, 3)):
        clock.move(seconds)
        await store.transact(appending())
        await store.transact(appending())
        assert len(runs) == wanted, seconds
    assert verified(store).entries == 13


async def test_a_chore_needs_no_callers(url, open_site):
    store = open_site(url)
    chore, runs = noting("sweep")
    store.attend(chore)
    assert runs == []
    store.start()
    store.stop()
    assert len(runs) == 1


async def test_a_chore_that_wants_to_runs_last(file_url, open_site):
    store = open_site(file_url)
    often, ran = noting("often")
    last, ran_last = noting("last", at_stop=True)
    store.attend(often)
    store.attend(last)
    await store.transact(appending())
    store.stop()
    assert (len(ran), len(ran_last)) == (1, 2)
    assert verified(open_site(file_url)).entries == 4
    assert ran_last[-1] == 3


async def test_a_chore_that_fails_is_logged_and_hurts_nobody(url, open_site, caplog):
    def fails(tx):
        tx.append(draft(n=1))
        raise ClumsyError

    store = open_site(url)
    store.attend(Chore(name="clumsy", every_seconds=10, unit=fails))
    with caplog.at_level(logging.WARNING, logger="negotiator.store"):
        assert (await store.transact(appending(n=2))).index == 0
        store.stop()
    assert [record.getMessage() for record in caplog.records] == ["the chore clumsy was not done: it fell"]
