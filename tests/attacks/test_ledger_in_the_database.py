"""Somebody with the database file edits it behind the store's back: found on reading, and never built upon."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from negotiator.errors import IntegrityError, UnavailableError
from negotiator.ledger import leaf_hash, verify_chain
from negotiator.store import SqlStore, SystemClock, open_store, statements
from tests.support.stores import HASH, appending, verified


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    opened = open_store(f"sqlite:///{tmp_path}/site.db", project="site", clock=SystemClock())
    for number in range(4):
        opened.transact_sync(appending(n=number))
    yield opened
    opened.stop()


@pytest.fixture
def edit(tmp_path: Path):
    def run(statement: str, *values: object) -> None:
        connection = sqlite3.connect(tmp_path / "site.db", isolation_level=None)
        assert connection.execute(statement, values).rowcount == 1
        connection.close()

    return run


def test_the_honest_ledger_verifies(store):
    assert verified(store).entries == 4


def test_an_edited_line_is_found_whatever_its_stored_hash_says(store, edit):
    line = store.read_sync(lambda reader: list(reader.ledger.lines())[1]).replace(b'"n":1', b'"n":7')
    edit('UPDATE ledger_entries SET line = ?, leaf_hash = ? WHERE "index" = 1', line, leaf_hash(line))
    with pytest.raises(IntegrityError) as caught:
        verified(store)
    assert caught.value.code == "chain_broken"
    assert "index 2" in caught.value.message


def test_a_deleted_entry_is_found(store, edit):
    edit('DELETE FROM ledger_entries WHERE "index" = 1')
    with pytest.raises(IntegrityError) as caught:
        verified(store)
    assert "index 1" in caught.value.message


def test_a_deleted_tail_is_found_by_the_head_that_still_counts_it(store, edit):
    edit('DELETE FROM ledger_entries WHERE "index" = 3')
    with pytest.raises(IntegrityError) as caught:
        verified(store)
    assert caught.value.code == "ledger_truncated"
    store.transact_sync(appending(n=9))
    with pytest.raises(IntegrityError) as caught:
        store.read_sync(lambda reader: verify_chain(reader.ledger.lines()))
    assert "index 3" in caught.value.message


def test_a_head_that_was_set_back_cannot_fork_the_chain(store, edit):
    edit("UPDATE ledger_head SET size = 2, prev = ?", HASH)
    with pytest.raises(UnavailableError) as caught:
        store.transact_sync(appending(n=9))
    assert caught.value.code == "ledger_unavailable"
    assert store.read_sync(lambda reader: verify_chain(reader.ledger.lines())).entries == 4


def test_without_a_head_nothing_is_written(store, edit):
    edit("DELETE FROM ledger_head")
    with pytest.raises(UnavailableError) as caught:
        store.transact_sync(appending(n=9))
    assert caught.value.code == "ledger_unavailable"
    assert store.read_sync(lambda reader: verify_chain(reader.ledger.lines())).entries == 4


def test_a_unit_that_moves_the_head_itself_fails_its_batch(store):
    def unit(tx):
        tx._sql.changed(
            statements.MOVE_HEAD,
            of_project="site",
            old_size=4,
            new_epoch=1,
            new_size=3,
            new_prev=HASH,
            new_time="2026-05-04T03:02:01.000006Z",
        )
        appending(n=9)(tx)

    with pytest.raises(UnavailableError):
        store.transact_sync(unit)
    assert verified(store).entries == 4
