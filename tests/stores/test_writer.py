"""The writer's thread: who is answered when, and what happens to those who left."""

from __future__ import annotations

import asyncio
from threading import Thread, get_ident
from threading import enumerate as threads

import pytest

from negotiator.errors import UnavailableError
from negotiator.ports import Lane
from tests.support.stores import appending, draft, handed_over, held_writer, negotiation, verified


async def test_nothing_starts_before_the_first_unit(url, open_site):
    before = set(threads())
    store = open_site(url)
    assert set(threads()) == before
    await store.transact(appending())
    (started,) = set(threads()) - before
    assert started.daemon
    store.stop()
    assert not started.is_alive()


async def test_an_answer_comes_after_the_commit(url, open_site):
    seen: list[tuple[str, int]] = []

    def step(name: str) -> None:
        seen.append((name, store.read_sync(lambda reader: reader.ledger.size())))

    store = open_site(url, step=step if url != "sqlite://" else lambda name: seen.append((name, -1)))
    await store.transact(appending())
    if url == "sqlite://":
        assert [name for name, _ in seen] == ["units_done", "before_commit", "after_commit"]
    else:
        assert seen == [("units_done", 0), ("before_commit", 0), ("after_commit", 1)]


@pytest.mark.parametrize("where", ["units_done", "before_commit"])
async def test_a_batch_that_fails_before_its_commit_left_nothing(url, open_site, where):
    fail = [True]

    def step(name: str) -> None:
        if name == where and fail:
            fail.clear()
            raise OSError(name)

    store = open_site(url, step=step)
    with pytest.raises(UnavailableError) as caught:
        await store.transact(appending())
    assert caught.value.code == "ledger_unavailable"
    assert verified(store).entries == 0
    assert (await store.transact(appending())).index == 0


async def test_after_repeated_failures_callers_are_refused_without_waiting(url, open_site, clock):
    tried: list[str] = []

    def step(name: str) -> None:
        tried.append(name)
        raise OSError(name)

    store = open_site(url, step=step)
    for _ in range(2):
        with pytest.raises(UnavailableError):
            await store.transact(appending())
    assert len(tried) == 2
    with pytest.raises(UnavailableError):
        await store.transact(appending())
    assert len(tried) == 2
    clock.move(0.1)
    with pytest.raises(UnavailableError):
        await store.transact(appending())
    assert len(tried) == 3
    clock.move(0.1)
    with pytest.raises(UnavailableError):
        await store.transact(appending())
    assert len(tried) == 3


async def test_a_cancelled_caller_is_nobodys_error(store):
    with held_writer(store):
        leaving = asyncio.ensure_future(store.transact(appending(n=1)))
        staying = asyncio.ensure_future(store.transact(appending(n=2)))
        await handed_over()
        leaving.cancel()
    assert (await staying).index == 1
    assert leaving.cancelled()
    assert verified(store).entries == 2


async def test_a_closed_loop_is_nobodys_error(store):
    def submit_and_close() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(store.transact(appending(n=1)))
        loop.run_until_complete(asyncio.sleep(0))
        task.get_coro().close()
        task._log_destroy_pending = False
        loop.close()

    with held_writer(store):
        leaver = Thread(target=submit_and_close)
        leaver.start()
        leaver.join(30)
    assert (await store.transact(appending(n=2))).index == 1
    assert verified(store).entries == 2


@pytest.mark.parametrize(
    ("lane", "room", "code"),
    [(Lane.GOVERNED, 1_024, "ledger_unavailable"), (Lane.DECLARATION, 64, "over_budget")],
)
async def test_a_full_lane_refuses_at_once_and_only_itself(store, lane, room, code):
    with held_writer(store):
        waiting = [asyncio.ensure_future(store.transact(appending(), lane)) for _ in range(room)]
        await handed_over()
        with pytest.raises(UnavailableError) as caught:
            await store.transact(appending(), lane)
        outcome = asyncio.ensure_future(store.transact(appending(), Lane.OUTCOME))
        await handed_over()
    assert caught.value.code == code
    assert (await outcome).index == 0
    await asyncio.gather(*waiting)
    assert verified(store).entries == room + 1


async def test_stop_writes_what_waits_and_refuses_the_rest(store):
    with held_writer(store):
        waiting = [asyncio.ensure_future(store.transact(appending(n=number))) for number in range(20)]
        await handed_over()
        store.stop(timeout_seconds=0)
        with pytest.raises(UnavailableError) as caught:
            await store.transact(appending())
    assert caught.value.code == "ledger_unavailable"
    assert [position.index for position in await asyncio.gather(*waiting)] == list(range(20))
    store.stop()
    with pytest.raises(UnavailableError) as caught:
        await store.read(lambda reader: reader.ledger.size())
    assert caught.value.code == "store_unavailable"


async def test_what_was_answered_is_there_after_stop_and_reopening(file_url, open_site):
    first = open_site(file_url)
    await first.transact(appending(n=1))
    first.stop()
    again = open_site(file_url)
    assert (await again.transact(appending(n=2))).index == 1
    assert verified(again).entries == 2


async def test_callers_on_several_loops_and_threads_share_one_chain(store):
    indices: list[int] = []

    async def ten() -> None:
        indices.extend(
            position.index for position in await asyncio.gather(*(store.transact(appending()) for _ in range(10)))
        )

    callers = [Thread(target=lambda: asyncio.run(ten())) for _ in range(4)]
    callers += [Thread(target=lambda: indices.append(store.transact_sync(appending()).index)) for _ in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(30)
    assert sorted(indices) == list(range(44))
    assert verified(store).entries == 44


@pytest.mark.parametrize(
    ("raised", "heard"),
    [
        (StopIteration, RuntimeError),  # a future cannot carry it
        (StopAsyncIteration, StopAsyncIteration),
        (ValueError, ValueError),
        (AssertionError, AssertionError),
    ],
)
async def test_whatever_a_unit_raises_its_caller_hears_of_it(store, raised, heard):
    def unit(tx):
        tx.append(draft())
        raise raised

    with pytest.raises(heard):
        await asyncio.wait_for(store.transact(unit), 30)
    assert verified(store).entries == 0


async def test_a_unit_that_ends_the_thread_ends_only_its_batch(store):
    def unit(_tx):
        raise SystemExit

    with pytest.raises(UnavailableError):
        await asyncio.wait_for(store.transact(unit), 30)
    assert (await store.transact(appending())).index == 0


async def test_units_run_off_the_loop_and_so_do_reads(store):
    here = get_ident()
    assert await store.transact(lambda _tx: get_ident()) != here
    assert await store.read(lambda _reader: get_ident()) != here


async def test_a_reader_cannot_write(store):
    with pytest.raises(UnavailableError) as caught:
        await store.read(lambda reader: reader.negotiations.add(negotiation()))
    assert caught.value.code == "store_unavailable"


async def test_the_units_of_one_turn_share_a_commit(url, open_site):
    commits: list[str] = []
    store = open_site(url, step=commits.append)
    await store.transact(appending())
    commits.clear()
    await asyncio.gather(*(store.transact(appending(n=number)) for number in range(10)))
    assert commits.count("after_commit") == 1


async def test_what_the_queue_refuses_is_told_to_each_caller(store):
    with held_writer(store):
        admitted = [asyncio.ensure_future(store.transact(appending(), Lane.DECLARATION)) for _ in range(66)]
        refused, waiting = await asyncio.wait(admitted[64:])
        assert not waiting
        assert [task.exception().code for task in refused] == ["over_budget", "over_budget"]
    assert [(await task).index for task in admitted[:64]] == list(range(64))
