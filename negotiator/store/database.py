"""What differs between the databases: one `Database` for each kind, everything else is the same code.

| | SQLite | PostgreSQL |
|---|---|---|
| a batch begins by | `BEGIN IMMEDIATE`, which takes the write lock | `BEGIN`; the head row's lock is the write lock |
| after an error in a unit | the rest goes on, if the transaction still stands | the whole batch is given up |
| a statement whose result nobody reads | is run at once | is sent along with the next one (pipeline mode) |
| when the writer has nothing to do | the write-ahead log is brought into the file | nothing |

It does not: hold connections or know any table.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection

__all__ = ["Database"]


class Database(Protocol):
    """One database that the store can stand on. Nothing is connected before an engine is first used."""

    @property
    def url(self) -> URL:
        """Where it is."""
        ...

    @property
    def batch_units(self) -> int:
        """How many units one transaction takes at most."""
        ...

    @property
    def file(self) -> Path | None:
        """The database's own file on this machine; None where there is none."""
        ...

    def make(self) -> None:
        """Make an empty database where that is ours to do.

        Raises:
            OSError: it cannot be made.
        """
        ...

    def writing_engine(self) -> Engine:
        """Return an engine that keeps no connections and whose transactions may write."""
        ...

    def reading_engine(self) -> Engine:
        """Return an engine of a few connections that cannot write and see one state throughout a transaction."""
        ...

    def looking_engine(self) -> Engine:
        """Return an engine that reads and leaves nothing behind, also where nobody else has the database open."""
        ...

    def hold(self) -> Connection | None:
        """Return a connection that keeps a database in memory alive until it is closed; else None."""
        ...

    def check(self, connection: Connection) -> None:
        """Look whether this database keeps what the store puts in.

        Raises:
            ConfigError: naming what is wrong with it.
        """
        ...

    def lock_schema(self, connection: Connection) -> None:
        """Let one migration at a time pass, until the transaction ends."""
        ...

    def prepare_writer(self, connection: PoolProxiedConnection) -> None:
        """Make a fresh connection one on which nothing begins a transaction but `begin`."""
        ...

    def begin(self, cursor: Any) -> None:  # noqa: ANN401 - DBAPI cursors share no type
        """Begin a transaction that will write."""
        ...

    def batch(self, connection: PoolProxiedConnection) -> AbstractContextManager[Callable[[], None]]:
        """Return what a batch's statements run inside of.

        It gives a function that waits for the results of what was sent, so that row counts can be read, and raises
        the driver's error of whichever statement failed.
        """
        ...

    def is_data_fault(self, problem: BaseException) -> bool:
        """Whether the database refused what it was given, and works: then other units may go on without this one."""
        ...

    def stands(self, connection: PoolProxiedConnection, problem: BaseException) -> bool:
        """Whether the transaction is still open after `problem` in a unit."""
        ...

    def tidy(self, connection: PoolProxiedConnection) -> None:
        """Do what is best done while nobody waits."""
        ...
