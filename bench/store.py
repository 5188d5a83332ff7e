"""How fast entries become durable, against one connection that writes the same rows without a product around it.

The baseline makes the same entries (canonical bytes, `prev`, leaf hash) and writes the same rows with `executemany`,
64 in a commit, on the same kind of file with the same settings.

`ledger_entries_64`            entries only, 64 callers that wait for each other's batch
`ledger_entries_64_vs_single`  the same entries, one caller that waits for each
`ledger_unit_64`               a row of state and an entry in each unit
`postgres_16`                  entries only, 16 callers, on PostgreSQL
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from bench.ledger import DRAFT
from bench.measure import Row, ratio
from negotiator.ledger import genesis
from negotiator.model.entries import EntryPosition
from negotiator.model.records import Intent
from negotiator.ports import Tx
from negotiator.store import SqlStore, SystemClock, open_store
from negotiator.store.engine import database_at
from negotiator.store.hot import Hot, Sql
from negotiator.store.rows import INTENT
from negotiator.store.schema import migrate
from negotiator.store.statements import ADD_ENTRY, OPEN_INTENT
from negotiator.store.tables import projects
from negotiator.store.transaction import entry_row
from tests.support.databases import new_database

__all__ = ["rows"]

_CALLERS = 64
_CLOCK = SystemClock()
_NUMBERS = count()


def rows() -> Iterator[Row]:
    """Yield the rows of the writer."""
    with _stage("sqlite") as (store, bare, loop):
        waiting = lambda: loop.run_until_complete(_together(store, _append, _CALLERS, 1))  # noqa: E731
        single = lambda: loop.run_until_complete(_together(store, _append, 1, _CALLERS))  # noqa: E731
        yield ratio(waiting, lambda: bare(intents=False), calls=20).rate_row("ledger_entries_64", bound=0.5)
        yield ratio(waiting, single, strides=9, calls=4, warm_up=2).rate_row("ledger_entries_64_vs_single", bound=3)
        unit = lambda: loop.run_until_complete(_together(store, _open_and_append, _CALLERS, 1))  # noqa: E731
        yield ratio(unit, lambda: bare(intents=True), calls=20).rate_row("ledger_unit_64", bound=0.3)
    with _stage("postgresql") as (store, bare, loop):
        sixteen = lambda: loop.run_until_complete(_together(store, _append, 16, 4))  # noqa: E731
        yield ratio(sixteen, lambda: bare(intents=False), calls=20).rate_row("postgres_16", bound=0.25)


@contextmanager
def _stage(kind: str) -> Iterator[tuple[SqlStore, Callable[..., None], asyncio.AbstractEventLoop]]:
    """Give a store, a bare writer and a loop; each writer has a database of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        new_database(kind, Path(folder) / "ours") as ours,
        new_database(kind, Path(folder) / "bare") as bare,
    ):
        store, loop = open_store(ours, project="bench", clock=_CLOCK), asyncio.new_event_loop()
        with _bare_writer(bare) as write:
            yield store, write, loop
        loop.close()
        store.stop()


async def _together(store: SqlStore, unit: Callable[[Tx], object], callers: int, times: int) -> None:
    async def caller() -> None:
        for _ in range(times):
            await store.transact(unit)

    await asyncio.gather(*(caller() for _ in range(callers)))


def _append(tx: Tx) -> EntryPosition:
    return tx.append(DRAFT)


def _open_and_append(tx: Tx) -> EntryPosition:
    tx.intents.open(_intent())
    return tx.append(DRAFT)


def _intent() -> Intent:
    return Intent(
        decision_id=f"d{next(_NUMBERS)}",
        owner="bench",
        lease_seq=0,
        principal_type="Agent",
        subject="agent:bench",
        action="post",
        opened_at=_CLOCK.now(),
    )


@contextmanager
def _bare_writer(url: str) -> Iterator[Callable[..., None]]:
    """Give a function that makes 64 entries and commits them on one connection."""
    database = database_at(url)
    migrate(database)
    engine = database.writing_engine()
    with engine.begin() as connection:
        connection.execute(insert(projects), {"project_id": "bench", "created_at": ""})
    connection = engine.raw_connection()
    database.prepare_writer(connection)
    cursor = connection.cursor()
    sql = Sql(cursor, Hot(engine.dialect))
    head = genesis("bench")

    def write(*, intents: bool) -> None:
        nonlocal head
        entries: list[dict[str, Any]] = []
        for _ in range(_CALLERS):
            head, placed = head.append(DRAFT, now=_CLOCK.now())
            entries.append(entry_row("bench", DRAFT, placed))
        database.begin(cursor)
        if intents:
            sql.insert_all(OPEN_INTENT, _intent_rows())
        sql.insert_all(ADD_ENTRY, entries)
        cursor.execute("COMMIT")

    yield write
    connection.close()
    engine.dispose()


def _intent_rows() -> Sequence[dict[str, Any]]:
    return [INTENT.to_row("bench", _intent()) for _ in range(_CALLERS)]


if __name__ == "__main__":
    for row in rows():
        print(row)
