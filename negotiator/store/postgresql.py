"""PostgreSQL through psycopg 3 (`Database`).

Rules:

- Who waits never waits long: for a lock 2 s, for a statement 5 s; a session that stands still inside a transaction is
  ended by the server after 5 s, so that a frozen process does not stop the others. Between statements of a pipeline a
  session does not count as standing still, so a whole transaction of the writer is bounded, too: 10 s.
- The writer's connection is in autocommit mode and writes `BEGIN` and `COMMIT` out. Its statements go in pipeline
  mode: what nobody reads is not waited for.
- After any error of the driver in a batch the batch is given up. The writer runs its units again one by one where the
  fault was in the data.
- Readers see one snapshot (`REPEATABLE READ`) and cannot write.
- The database must be encoded in UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, Engine, NullPool, PoolProxiedConnection, QueuePool, create_engine

from negotiator.errors import ConfigError

__all__ = ["READER_CONNECTIONS", "PostgresDatabase"]

READER_CONNECTIONS: Final = 4
"""Connections that read at the same time in one process; others wait."""

_BATCH_UNITS = 60
_WITH_TRANSACTION_TIMEOUT: Final = 170_000
_TRANSACTION_TIMEOUT: Final = "SET transaction_timeout = '10s'"
_READER_WAIT_SECONDS = 5.0
_SCHEMA_LOCK = 0x75_61_69_78
"""The key of the advisory lock that migrations take: `uaix`."""

_CONNECT_ARGS: dict[str, Any] = {
    "connect_timeout": 3,
    "client_encoding": "utf8",
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_WRITING: dict[str, str] = {
    "lock_timeout": "2s",
    "statement_timeout": "5s",
    "idle_in_transaction_session_timeout": "5s",
}
_READING: dict[str, str] = {
    "default_transaction_read_only": "on",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "300s",
}


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database on a PostgreSQL server."""

    url: URL
    batch_units: int = _BATCH_UNITS

    @classmethod
    def at(cls, url: URL) -> PostgresDatabase:
        """Return the database of a URL as an operator writes it; the driver is psycopg."""
        return cls(url.set(drivername="postgresql+psycopg"))

    @property
    def file(self) -> Path | None:
        """None: the server has the files."""
        return None

    def make(self) -> None:
        """Do nothing: the administrator of the server makes databases."""

    def writing_engine(self) -> Engine:
        """Return an engine that keeps no connections."""
        return create_engine(self.url, poolclass=NullPool, hide_parameters=True, connect_args=_connect_args(_WRITING))

    def reading_engine(self) -> Engine:
        """Return an engine whose connections can only read, at most `READER_CONNECTIONS` of them."""
        return create_engine(
            self.url,
            poolclass=QueuePool,
            pool_size=READER_CONNECTIONS,
            max_overflow=0,
            pool_timeout=_READER_WAIT_SECONDS,
            pool_pre_ping=True,
            isolation_level="REPEATABLE READ",
            hide_parameters=True,
            connect_args=_connect_args(_READING),
        )

    def looking_engine(self) -> Engine:
        """Return the same: a reading session leaves nothing behind."""
        return self.reading_engine()

    def hold(self) -> Connection | None:
        """Return None: the server keeps the database."""
        return None

    def check(self, connection: Connection) -> None:
        """Look at the encoding.

        Raises:
            ConfigError: `database_encoding`.
        """
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            message = f"the database is encoded in {encoding}; create it with ENCODING 'UTF8' TEMPLATE template0"
            raise ConfigError(message, code="database_encoding")

    def lock_schema(self, connection: Connection) -> None:
        """Let one migration at a time pass; it may take its time."""
        connection.exec_driver_sql("SET LOCAL lock_timeout = '60s'")
        connection.exec_driver_sql("SET LOCAL statement_timeout = '600s'")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")

    def prepare_writer(self, connection: PoolProxiedConnection) -> None:
        """Turn autocommit on, and bound a whole transaction where the server can (PostgreSQL 17 and later)."""
        driver: Any = connection.dbapi_connection
        driver.autocommit = True
        if driver.info.server_version >= _WITH_TRANSACTION_TIMEOUT:
            driver.execute(_TRANSACTION_TIMEOUT)

    def begin(self, cursor: Any) -> None:  # noqa: ANN401 - DBAPI cursors share no type
        """Begin; the lock is taken by the first statement (`statements.LOCK_HEAD`)."""
        cursor.execute("BEGIN")

    def batch(self, connection: PoolProxiedConnection) -> AbstractContextManager[Callable[[], None]]:
        """Return the driver's pipeline mode, and how to receive what the server has answered so far."""
        return _pipeline(connection.dbapi_connection)

    def is_data_fault(self, problem: BaseException) -> bool:
        """Whether the server refused a value or a constraint was hurt."""
        return isinstance(problem, psycopg.IntegrityError | psycopg.DataError | psycopg.ProgrammingError)

    def stands(self, connection: PoolProxiedConnection, problem: BaseException) -> bool:  # noqa: ARG002 - the port's
        """Whether the unit failed by itself; after an error of the server nothing of the batch can be relied on."""
        return not isinstance(problem, psycopg.Error)

    def tidy(self, connection: PoolProxiedConnection) -> None:
        """Do nothing: the server looks after itself."""


@contextmanager
def _pipeline(driver: Any) -> Generator[Callable[[], None]]:  # noqa: ANN401 - a psycopg connection
    with driver.pipeline() as pipeline:
        yield pipeline.sync


def _connect_args(options: dict[str, str]) -> dict[str, Any]:
    return _CONNECT_ARGS | {"options": " ".join(f"-c {name}={value}" for name, value in options.items())}
