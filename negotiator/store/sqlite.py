"""SQLite (`Database`).

Rules:

- The driver begins nothing by itself (`isolation_level = None`); what begins a transaction is written out:
  `BEGIN IMMEDIATE` for writers and migrations, `BEGIN` for readers.
- Every connection gets every PRAGMA: WAL, `synchronous = FULL` (an answer waits for the disk), a busy timeout,
  foreign keys, a late checkpoint. Reading connections refuse to write.
- `sqlite://` is a database in this process's memory that all connections of one store share (the `memdb` VFS has
  the locks of a file). It lasts as long as the store, so tests of services use it.
- A database's file is made once, by `make`. Afterwards a file that is gone or is another one is an error, never a new
  empty database: a connection to a file that was taken away would write into nothing.
- The write-ahead log is brought into the database when nobody waits, so that it does not grow between busy hours.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, PoolProxiedConnection, QueuePool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from negotiator.errors import ConfigError

__all__ = ["READER_CONNECTIONS", "SqliteDatabase"]

READER_CONNECTIONS: Final = 4
"""Connections that read at the same time in one process; others wait."""

_BEGIN_WRITING = "BEGIN IMMEDIATE"
_FILE = "negotiator.file"
_IN_MEMORY = frozenset({None, "", ":memory:"})
_BUSY_TIMEOUT_MS = 5_000
_READER_WAIT_SECONDS = 5.0
_BATCH_UNITS = 4_096
_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA wal_autocheckpoint = 4000",
)


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A file, or a database in memory that one store shares."""

    url: URL
    batch_units: int = _BATCH_UNITS

    @classmethod
    def at(cls, url: URL) -> SqliteDatabase:
        """Return the database of a URL as an operator writes it.

        Raises:
            ConfigError: `database_directory_missing`.
        """
        if url.database in _IN_MEMORY:
            return cls(_shared_memory(url))
        database = cls(url)
        if database.file is not None and not database.file.parent.is_dir():
            message = f"the directory {database.file.parent} of the database does not exist; make it first"
            raise ConfigError(message, code="database_directory_missing")
        return database

    @property
    def file(self) -> Path | None:
        """The file; None for one in memory."""
        if self.url.database in _IN_MEMORY or "vfs" in self.url.query:
            return None
        return Path(str(self.url.database).removeprefix("file:"))

    def make(self) -> None:
        """Make the file, empty, if there is none.

        Raises:
            OSError: it cannot be made.
        """
        if self.file is not None and "mode" not in self.url.query:
            self.file.touch()

    def writing_engine(self) -> Engine:
        """Return an engine whose transactions take the write lock at once."""
        engine = create_engine(self._existing, poolclass=NullPool, hide_parameters=True, connect_args=_connect_args())
        _configure(engine, pragmas=_PRAGMAS, begin=_BEGIN_WRITING)
        return engine

    def reading_engine(self) -> Engine:
        """Return an engine whose connections can only read, at most `READER_CONNECTIONS` of them."""
        engine = create_engine(
            self._existing,
            poolclass=QueuePool,
            pool_size=READER_CONNECTIONS,
            max_overflow=0,
            pool_timeout=_READER_WAIT_SECONDS,
            hide_parameters=True,
            connect_args=_connect_args(),
        )
        _configure(engine, pragmas=(*_PRAGMAS, "PRAGMA query_only = ON"), begin="BEGIN")
        event.listen(engine, "checkout", self._refuse_another_file)
        return engine

    def looking_engine(self) -> Engine:
        """Return an engine that reads and leaves nothing behind: no lock, no log, no checkpoint.

        Without a write-ahead log nobody is writing, and the file alone is the whole database.
        """
        file = self.file
        if file is None or self.url.query:
            return self.reading_engine()
        mode = {"mode": "ro"} if file.with_name(f"{file.name}-wal").exists() else {"immutable": "1"}
        url = self.url.set(database=f"file:{quote(str(file))}", query={**mode, "uri": "true"})
        engine = create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=_connect_args())
        _configure(engine, pragmas=(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}",), begin="BEGIN")
        return engine

    @property
    def _existing(self) -> URL:
        """The URL by which no file is made."""
        if self.file is None or "mode" in self.url.query:
            return self.url
        return self.url.set(
            database=f"file:{quote(str(self.file))}", query={**self.url.query, "mode": "rw", "uri": "true"}
        )

    def _identity(self) -> tuple[int, int] | None:
        """Return what tells this file from another one of the same name."""
        if self.file is None:
            return None
        found = self.file.stat()
        return found.st_dev, found.st_ino

    def _refuse_another_file(self, _connection: object, entry: ConnectionPoolEntry, _proxy: object) -> None:
        try:
            if entry.info.setdefault(_FILE, self._identity()) == self._identity():
                return
        except OSError:
            pass
        raise DisconnectionError

    def hold(self) -> Connection | None:
        """Return a connection that keeps a database in memory alive; None for a file."""
        return self.writing_engine().connect() if self.url.query.get("vfs") == "memdb" else None

    def check(self, connection: Connection) -> None:
        """Find nothing: SQLite keeps what it is given."""

    def lock_schema(self, connection: Connection) -> None:
        """Do nothing: `BEGIN IMMEDIATE` has the lock already."""

    def prepare_writer(self, connection: PoolProxiedConnection) -> None:
        """Note which file it writes to."""
        connection.info[_FILE] = self._identity()

    def begin(self, cursor: Any) -> None:  # noqa: ANN401 - DBAPI cursors share no type
        """Take the write lock."""
        cursor.execute(_BEGIN_WRITING)

    def batch(self, connection: PoolProxiedConnection) -> AbstractContextManager[Callable[[], None]]:
        """Return nothing special: every statement runs at once.

        Raises:
            OSError: the file is gone, or another one stands in its place.
        """
        if connection.info[_FILE] != self._identity():
            message = f"another file stands in the place of the database {self.file}"
            raise OSError(message)
        return nullcontext(_results_are_there)

    def is_data_fault(self, problem: BaseException) -> bool:
        """Whether a constraint or a value was at fault; then SQLite undid that statement alone."""
        return isinstance(problem, sqlite3.IntegrityError | sqlite3.DataError)

    def stands(self, connection: PoolProxiedConnection, problem: BaseException) -> bool:  # noqa: ARG002 - the port's
        """Whether the transaction is still open; SQLite ends some by itself, for instance when the disk is full."""
        driver: Any = connection.dbapi_connection
        return driver is not None and bool(driver.in_transaction)

    def tidy(self, connection: PoolProxiedConnection) -> None:
        """Bring the write-ahead log into the file, as far as no reader stands in the way."""
        cursor = connection.cursor()
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        cursor.fetchall()
        cursor.close()


def _results_are_there() -> None:
    """Wait for nothing."""


def _shared_memory(url: URL) -> URL:
    return url.set(database=f"file:/negotiator-{secrets.token_hex(8)}", query={"vfs": "memdb", "uri": "true"})


def _connect_args() -> dict[str, Any]:
    # Pooled connections go from thread to thread, one at a time.
    return {"check_same_thread": False, "isolation_level": None}


def _configure(engine: Engine, *, pragmas: tuple[str, ...], begin: str) -> None:
    def on_connect(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(pragma)
            cursor.fetchall()
        cursor.close()

    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
