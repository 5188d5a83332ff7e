"""The writer's connection: made when it is needed, thrown away when anything failed on it.

After a failure the next attempt comes at once; after further ones there are growing pauses (0.1 to 2 s), so that a
database that is away is not stormed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from sqlalchemy import PoolProxiedConnection

from negotiator.ports import Clock
from negotiator.store.database import Database
from negotiator.store.hot import Hot
from negotiator.store.transaction import Batch

__all__ = ["Link"]

_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 2.0


class Link:
    """One process's way to write to one project. Not thread-safe; the writer's thread has it."""

    def __init__(self, *, database: Database, project: str, owner: str, clock: Clock) -> None:
        self._database = database
        self._engine = database.writing_engine()
        self._hot = Hot(self._engine.dialect)
        self._project = project
        self._owner = owner
        self._clock = clock
        self._connection: PoolProxiedConnection | None = None
        self._failures = 0
        self._not_before = float("-inf")

    @property
    def resting(self) -> bool:
        """Whether it is too early for another attempt."""
        return self._clock.monotonic() < self._not_before

    @property
    def driver_error(self) -> type[Exception]:
        """What the driver's errors have in common."""
        error: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        return error

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """Give a batch that has begun; who takes it commits it or gives it up."""
        connection = self._connected()
        with self._database.batch(connection) as wait:
            batch = Batch(
                connection,
                self._hot,
                database=self._database,
                settle=wait,
                project=self._project,
                owner=self._owner,
                clock=self._clock,
            )
            batch.begin()
            yield batch

    def worked(self) -> None:
        """Forget earlier failures."""
        self._failures = 0

    def failed(self) -> None:
        """Throw the connection away and rest before the next attempt."""
        self.drop()
        pause = _FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1) if self._failures else 0.0
        self._not_before = self._clock.monotonic() + min(pause, _LONGEST_PAUSE_SECONDS)
        self._failures = min(self._failures + 1, 10)

    def drop(self) -> None:
        """Throw the connection away."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it is being thrown away, perhaps because it is broken
                connection.close()

    def tidy(self) -> None:
        """Let the database do what it likes to do while nobody waits."""
        if self._connection is not None:
            try:
                self._database.tidy(self._connection)
            except self.driver_error:
                self.drop()

    def _connected(self) -> PoolProxiedConnection:
        if self._connection is None:
            connection = self._engine.raw_connection()
            connection.detach()
            self._database.prepare_writer(connection)
            self._connection = connection
        return self._connection
