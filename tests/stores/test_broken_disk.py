"""A disk that is full or read-only: refused with 503, nothing half-written, and whole again afterwards."""

from __future__ import annotations

import asyncio
from shutil import copyfile

import pytest

from negotiator.errors import UnavailableError
from negotiator.store import SqlStore
from tests.support.stores import appending, draft, handed_over, held_writer, proposal, verified


def limit_pages(store: SqlStore, room: int) -> None:
    """Let the writer's connection grow its file by `room` pages and no further."""

    def unit(tx):
        cursor = tx._sql._cursor
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count = {pages + room}").fetchall()

    store.transact_sync(unit)


async def test_a_full_disk_refuses_the_whole_batch_and_nothing_stays(file_url, open_site):
    store = open_site(file_url)
    limit_pages(store, room=20)

    def unit(tx):
        tx.append(draft(text="x" * 1_000))
        tx.proposals.add(proposal(f"p{tx._chain.head.size}"))

    with held_writer(store):
        waiting = [asyncio.ensure_future(store.transact(unit)) for _ in range(200)]
        await handed_over()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    refused = [answer for answer in answers if answer is not None]
    assert len(refused) == 200
    assert {type(answer) for answer in refused} == {UnavailableError}
    assert {answer.code for answer in refused} == {"ledger_unavailable"}
    assert verified(store).entries == 0
    assert await store.read(lambda reader: reader.proposals.of_subject("agent:a1")) == ()


async def test_after_a_full_disk_the_next_batch_has_a_new_connection(file_url, open_site):
    store = open_site(file_url)
    await store.transact(appending(n=0))
    limit_pages(store, room=0)
    with pytest.raises(UnavailableError):
        await store.transact(appending(text="x" * 100_000))
    assert (await store.transact(appending(text="x" * 100_000))).index == 1
    assert verified(store).entries == 2


async def test_a_read_only_database_can_be_read_and_refuses_units(file_url, open_site, tmp_path):
    first = open_site(file_url)
    await first.transact(appending(n=0))
    store = open_site(f"sqlite:///file:{tmp_path}/site.db?mode=ro&uri=true")
    with pytest.raises(UnavailableError) as caught:
        await store.transact(appending(n=1))
    assert caught.value.code == "ledger_unavailable"
    assert caught.value.retry_after_seconds >= 1
    assert verified(store).entries == 1


def test_a_database_that_cannot_be_made_says_so(tmp_path, open_site):
    with pytest.raises(UnavailableError) as caught:
        open_site(f"sqlite:///file:{tmp_path}/none.db?mode=ro&uri=true")
    assert caught.value.code == "store_unavailable"


def test_a_file_that_is_no_database_says_so(tmp_path, open_site):
    (tmp_path / "site.db").write_bytes(b"this is a text" * 1_000)
    with pytest.raises(UnavailableError) as caught:
        open_site(f"sqlite:///{tmp_path}/site.db")
    assert caught.value.code == "store_unavailable"
    assert (tmp_path / "site.db").read_bytes() == b"this is a text" * 1_000


@pytest.mark.parametrize("in_its_place", ["nothing", "an empty file", "a copy"])
async def test_a_file_that_was_taken_away_is_never_written_on(file_url, open_site, tmp_path, clock, in_its_place):
    """Removing a file leaves it open to those who have it; what they write is gone with the last of them."""
    store = open_site(file_url)
    await store.transact(appending(n=0))
    assert verified(store).entries == 1
    aside = tmp_path / "aside"
    aside.mkdir()
    for path in sorted(tmp_path.glob("site.db*")):
        path.rename(aside / path.name)
    if in_its_place == "an empty file":
        (tmp_path / "site.db").touch()
    if in_its_place == "a copy":
        for path in aside.iterdir():
            copyfile(path, tmp_path / path.name)
    if in_its_place == "a copy":
        with pytest.raises(UnavailableError):
            await store.transact(appending(n=1))
        assert (await store.transact(appending(n=2))).index == 1
    else:
        for _ in range(3):
            with pytest.raises(UnavailableError):
                await store.transact(appending(n=1))
            with pytest.raises(UnavailableError):
                await store.read(lambda reader: reader.ledger.size())
            clock.move(3)
        for path in tmp_path.glob("site.db*"):
            path.unlink()
        for path in aside.iterdir():
            path.rename(tmp_path / path.name)
        assert (await store.transact(appending(n=2))).index == 1
    assert verified(store).entries == 2
