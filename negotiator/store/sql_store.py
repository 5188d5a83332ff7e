"""The store of one project: one way in for changes, one for reads (`ports.Store`).

Rules:

- `open_store` makes the schema and the project's rows; constructing a `SqlStore` touches nothing.
- Threads and connections belong to one process. Every call compares the process id; a forked child makes its own
  queue, thread, connections and `owner`, and leaves what it inherited alone, neither using nor closing it.
- Reads run on a few read-only connections, off the event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from negotiator.errors import ConfigError, UnavailableError, quoted
from negotiator.ledger import genesis
from negotiator.model.times import format_time
from negotiator.ports import Chore, Clock, Ids, Lane, Meter, Reader, Tx
from negotiator.store import statements
from negotiator.store.database import Database
from negotiator.store.engine import database_at
from negotiator.store.environment import RandomIds
from negotiator.store.hot import Hot
from negotiator.store.lanes import LANE_CAPACITY
from negotiator.store.reads import read
from negotiator.store.schema import migrate
from negotiator.store.turns import Turns
from negotiator.store.writer import Job, Step, Writer

__all__ = ["SqlStore", "open_store"]

T = TypeVar("T")


def open_store(
    url: str,
    *,
    project: str,
    clock: Clock,
    ids: Ids | None = None,
    owner: str | None = None,
    step: Step | None = None,
    meter: Meter | None = None,
) -> SqlStore:
    """Return the store of `project` in the database at `url`, whose schema is brought up to date.

    Args:
        url: an SQLAlchemy URL; `sqlite://` is a database in memory, gone when the store stops.
        project: the project's name, 1 to 64 characters.
        clock: the wall clock.
        ids: makes the owner id of each process; by default a random one.
        owner: this process's id, if it is not to be made.
        step: called at each of `writer.STEPS` of each batch.
        meter: told of each commit.

    Raises:
        ConfigError: `project_invalid`, and as `migrate` does.
        UnavailableError: `store_unavailable`.
    """
    _check_project(project)
    database = database_at(url)
    anchor = _hold(database)
    migrate(database)
    _found_project(database, project, clock)
    maker = RandomIds() if ids is None else ids
    return SqlStore(
        database, project=project, clock=clock, ids=maker, owner=owner, step=step, meter=meter, anchor=anchor
    )


def _hold(database: Database) -> Connection | None:
    try:
        return database.hold()
    except SQLAlchemyError as problem:
        message = "the database cannot be opened now; try again"
        raise UnavailableError(message, code="store_unavailable") from problem


def _check_project(project: str) -> None:
    if not 0 < len(project) <= 64 or not project.isprintable():
        message = f"the project name {quoted(project)} cannot be used; write 1 to 64 printable characters"
        raise ConfigError(message, code="project_invalid")


def _found_project(database: Database, project: str, clock: Clock) -> None:
    """Make the project's row and its empty ledger, unless they are there."""
    readers, writers = database.reading_engine(), database.writing_engine()
    try:
        with readers.begin() as connection:
            if _is_founded(connection, project):
                return
        with writers.begin() as connection:
            database.lock_schema(connection)
            if not _is_founded(connection, project):
                _add_project(connection, project, clock)
    except SQLAlchemyError as problem:
        message = f"the project {quoted(project)} cannot be added to the database now; try again"
        raise UnavailableError(message, code="store_unavailable") from problem
    finally:
        readers.dispose()


def _is_founded(connection: Connection, project: str) -> bool:
    return connection.execute(statements.PROJECT, {"of_project": project}).first() is not None


def _add_project(connection: Connection, project: str, clock: Clock) -> None:
    head = genesis(project)
    connection.execute(statements.ADD_PROJECT, {"project_id": project, "created_at": format_time(clock.now())})
    connection.execute(
        statements.ADD_HEAD,
        {
            "project_id": project,
            "epoch": head.epoch,
            "size": head.size,
            "prev": head.prev,
            "time": format_time(head.time),
        },
    )


@dataclass(frozen=True, slots=True)
class _Process:
    """What belongs to one process."""

    writer: Writer
    turns: Turns[Job]
    readers: Engine
    hot: Hot


class SqlStore:
    """The durable state of one project. Made by `open_store`."""

    def __init__(
        self,
        database: Database,
        *,
        project: str,
        clock: Clock,
        ids: Ids,
        owner: str | None,
        step: Step | None,
        meter: Meter | None,
        anchor: Connection | None,
    ) -> None:
        self._database = database
        self._project = project
        self._clock = clock
        self._ids = ids
        self._owner: tuple[int, str | None] = (os.getpid(), owner)
        self._step = step
        self._meter = meter
        self._anchor = anchor
        self._chores: list[Chore] = []
        self._processes: dict[int, _Process] = {}
        self._inherited: list[_Process] = []

    async def transact(self, unit: Callable[[Tx], T], lane: Lane = Lane.GOVERNED) -> T:
        """Run `unit` in the writer's next batch; see `ports.Store.transact`."""
        reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._here().turns.add(Job(unit, reply, lane))
        return await reply

    def transact_sync(self, unit: Callable[[Tx], T], lane: Lane = Lane.GOVERNED) -> T:
        """Do the same from a thread that may wait."""
        reply: Future[T] = Future()
        self._here().writer.submit([Job(unit, reply, lane)])
        return reply.result()

    async def read(self, query: Callable[[Reader], T]) -> T:
        """Run `query` on committed state, off the event loop.

        Raises:
            UnavailableError: `store_unavailable`.
        """
        return await asyncio.to_thread(self.read_sync, query)

    def read_sync(self, query: Callable[[Reader], T]) -> T:
        """Do the same in this thread."""
        here = self._here()
        if here.writer.stopped:
            message = "the store has stopped; start the server again"
            raise UnavailableError(message, code="store_unavailable")
        return read(here.readers, here.hot, self._project, query)

    def attend(self, chore: Chore) -> None:
        """Run `chore` from now on; see `ports.Store.attend`."""
        self._chores.append(chore)

    def start(self) -> None:
        """Start the writer's thread of this process."""
        self._here().writer.start()

    def waiting(self) -> Mapping[Lane, int]:
        """Return how many units wait in each lane of this process."""
        return self._here().writer.depths

    def capacity(self) -> Mapping[Lane, int]:
        """Return how many units may wait in each lane."""
        return LANE_CAPACITY

    def stop(self, timeout_seconds: float = 10.0) -> None:
        """Refuse new units, write what is queued, end the writer and close every connection of this process."""
        here = self._here()
        here.writer.stop(timeout_seconds)
        here.readers.dispose()
        if self._anchor is not None and self._owner[0] == os.getpid():
            self._anchor.close()

    def _here(self) -> _Process:
        """Return what belongs to this process, making it at its first call.

        No lock: a fork may copy one that is held. `setdefault` lets one of two threads win, and what the other
        made was never started.
        """
        pid = os.getpid()
        here = self._processes.get(pid)
        return self._settle_in(pid) if here is None else here

    def _settle_in(self, pid: int) -> _Process:
        here = self._processes.setdefault(pid, self._new_process(pid))
        for other in [key for key in self._processes if key != pid]:
            inherited = self._processes.pop(other, None)
            if inherited is not None:
                self._inherited.append(inherited)
        return here

    def _new_process(self, pid: int) -> _Process:
        first_pid, given = self._owner
        owner = given if given is not None and pid == first_pid else self._ids.new()
        readers = self._database.reading_engine()
        writer = Writer(
            database=self._database,
            project=self._project,
            owner=owner,
            clock=self._clock,
            chores=self._chores,
            step=self._step,
            meter=self._meter,
        )
        return _Process(writer, Turns(writer.submit), readers, Hot(readers.dialect))
