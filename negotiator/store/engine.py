"""Engines: the one place that knows which database it is.

Rules, for SQLite:

- The driver begins nothing by itself (`isolation_level = None`); what begins a transaction is written out:
  `BEGIN IMMEDIATE` for writers and migrations, `BEGIN` for readers.
- Every connection gets every PRAGMA: WAL, `synchronous = FULL` (an answer waits for the disk), a busy timeout,
  foreign keys, a late checkpoint. Reading connections refuse to write.
- `sqlite://` is a database in this process's memory that all connections of one store share (the `memdb` VFS has
  the locks of a file). It lasts as long as the store, so tests of services use it.

Nothing is connected before the first use.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    PoolProxiedConnection,
    QueuePool,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from negotiator.errors import ConfigError

__all__ = [
    "BEGIN_WRITING",
    "READER_CONNECTIONS",
    "database_file",
    "database_url",
    "hold_memory",
    "reading_engine",
    "transaction_stands",
    "writing_engine",
]

READER_CONNECTIONS: Final = 4
"""Connections that read at the same time in one process; others wait."""

BEGIN_WRITING: Final = "BEGIN IMMEDIATE"
"""Takes the write lock at once, so that nothing read in the transaction can be overtaken."""

_IN_MEMORY = frozenset({None, "", ":memory:"})
_BUSY_TIMEOUT_MS = 5_000
_READER_WAIT_SECONDS = 5.0
_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA wal_autocheckpoint = 4000",
)


def database_url(text: str) -> URL:
    """Return the URL of a database that this code can use.

    Raises:
        ConfigError: `database_url_invalid`, `database_unsupported`, `database_directory_missing`.
    """
    url = _parsed(text)
    if url.get_backend_name() != "sqlite":
        message = f"databases of the kind {url.get_backend_name()} are not supported; use sqlite:///<path>"
        raise ConfigError(message, code="database_unsupported")
    if url.database in _IN_MEMORY:
        return _shared_memory(url)
    _check_directory(url)
    return url


def _parsed(text: str) -> URL:
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        message = "the database URL cannot be read; write for instance sqlite:///var/data/negotiator.db"
        raise ConfigError(message, code="database_url_invalid") from None


def _shared_memory(url: URL) -> URL:
    return url.set(database=f"file:/negotiator-{secrets.token_hex(8)}", query={"vfs": "memdb", "uri": "true"})


def database_directory(url: str | URL) -> Path | None:
    """Return the directory of the database's files; None for one in memory. Keys must lie elsewhere.

    Raises:
        ConfigError: `database_url_invalid`.
    """
    file = database_file(url)
    return None if file is None else file.parent


def database_file(url: str | URL) -> Path | None:
    """Return the database's file; None for one in memory.

    Raises:
        ConfigError: `database_url_invalid`.
    """
    parsed = _parsed(url) if isinstance(url, str) else url
    if parsed.database in _IN_MEMORY or "vfs" in parsed.query:
        return None
    return Path(str(parsed.database).removeprefix("file:"))


def _check_directory(url: URL) -> None:
    directory = database_directory(url)
    if directory is not None and not directory.is_dir():
        message = f"the directory {directory} of the database does not exist; make it first"
        raise ConfigError(message, code="database_directory_missing")


def hold_memory(url: URL) -> Connection | None:
    """Return a connection that keeps a database in memory alive until it is closed; None for a file."""
    return writing_engine(url).connect() if url.query.get("vfs") == "memdb" else None


def transaction_stands(connection: PoolProxiedConnection) -> bool:
    """Whether the transaction that was begun on `connection` is still open; SQLite ends some by itself."""
    driver: Any = connection.dbapi_connection
    return driver is not None and bool(driver.in_transaction)


def writing_engine(url: URL) -> Engine:
    """Return an engine whose transactions take the write lock at once. It keeps no connections."""
    engine = create_engine(url, poolclass=NullPool, connect_args=_connect_args())
    _configure(engine, pragmas=_PRAGMAS, begin=BEGIN_WRITING)
    return engine


def reading_engine(url: URL) -> Engine:
    """Return an engine whose connections can only read, at most `READER_CONNECTIONS` of them."""
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=READER_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_READER_WAIT_SECONDS,
        connect_args=_connect_args(),
    )
    _configure(engine, pragmas=(*_PRAGMAS, "PRAGMA query_only = ON"), begin="BEGIN")
    return engine


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
