"""A commit whose answer never came is looked up: the callers hear what is true, or that nobody knows."""

from __future__ import annotations

import asyncio

import pytest

from negotiator.errors import UnavailableError, UnsureError
from tests.support.stores import appending, handed_over, held_writer, verified


class LostError(Exception):
    """The connection was lost."""


class Interrupted:
    """A step that fails once, as a connection does that breaks at `where`.

    Attributes:
        batches: how many batches pass `where` before that; negative: all of them.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self.batches = -1

    def __call__(self, name: str) -> None:
        if name == self._where:
            self.batches -= 1
            if self.batches == -1:
                raise LostError


async def test_what_was_committed_is_answered_as_committed(url, open_site):
    step = Interrupted("after_commit")
    store = open_site(url, step=step)
    await store.transact(appending(n=0))
    with held_writer(store):
        waiting = [asyncio.ensure_future(store.transact(appending(n=n))) for n in range(5)]
        await handed_over()
        step.batches = 1
    assert [position.index for position in await asyncio.gather(*waiting)] == [1, 2, 3, 4, 5]
    assert verified(store).entries == 6


async def test_what_was_not_committed_is_refused_and_not_there(url, open_site):
    step = Interrupted("before_commit")
    store = open_site(url, step=step)
    step.batches = 0
    with pytest.raises(UnavailableError) as caught:
        await store.transact(appending(n=1))
    assert type(caught.value) is UnavailableError
    assert verified(store).entries == 0
    assert (await store.transact(appending(n=2))).index == 0


async def test_what_another_process_wrote_in_its_place_is_not_taken_for_ours(shared_url, open_site, monkeypatch):
    """The transaction was undone, and somebody else has that index now."""
    rival = open_site(shared_url)

    def lose(batch):
        batch.give_up()
        rival.transact_sync(appending(who="rival"))
        raise LostError

    store = open_site(shared_url)
    with monkeypatch.context() as patched:
        patched.setattr("negotiator.store.transaction.Batch.commit", once(lose))
        with pytest.raises(UnavailableError) as caught:
            await store.transact(appending(who="we"))
    assert type(caught.value) is UnavailableError
    assert verified(store).entries == 1


def once(replacement):
    """Replace the next call of `Batch.commit` alone; the rival commits as ever."""
    from negotiator.store.transaction import Batch

    original, left = Batch.commit, [replacement]
    return lambda batch: left.pop()(batch) if left else original(batch)


async def test_what_cannot_be_found_out_is_said_to_be_unknown(url, open_site, monkeypatch, clock):
    """The database is gone after the commit; it comes back later, with what was committed in it."""
    step = Interrupted("after_commit")
    store = open_site(url, step=step)
    await store.transact(appending(n=0))
    step.batches = 0

    def gone(_link):
        raise OSError

    with monkeypatch.context() as patched:
        link = store._here().writer._link
        original = type(link)._connected
        patched.setattr(type(link), "_connected", lambda self: original(self) if step.batches >= 0 else gone(self))
        with pytest.raises(UnsureError) as caught:
            await store.transact(appending(n=1))
    assert caught.value.code == "ledger_unavailable"
    clock.move(5)
    assert (await store.transact(appending(n=2))).index == 2
    assert verified(store).entries == 3
