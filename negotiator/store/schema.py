"""The schema's version: bring a database up to this code's, or say why not.

Rules:

- All missing migrations run in one transaction behind the write lock; a failure leaves nothing.
- The version is read again under the lock, so that several processes may start at once.
- A database whose schema is newer than the code is refused: this code would not know what it must keep true.
- A database that is up to date is not written to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from negotiator.errors import ConfigError, UnavailableError, quoted
from negotiator.store.database import Database
from negotiator.store.engine import database_at

__all__ = ["SchemaState", "migrate", "schema_of"]

_MIGRATIONS: Final = "negotiator.store:migrations"


@dataclass(frozen=True, slots=True)
class SchemaState:
    """Which revision a database has, and which is this code's newest; empty for a database without tables."""

    present: str
    newest: str

    @property
    def current(self) -> bool:
        """Whether nothing is missing."""
        return self.present == self.newest


def schema_of(connection: Connection) -> SchemaState:
    """Return which revision the database of `connection` has.

    Raises:
        ConfigError: `schema_newer`.
    """
    return _state(connection, _config())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    return config


def migrate(database: Database | str) -> None:
    """Bring the schema of a database up to this code's.

    Raises:
        ConfigError: `schema_newer`, as `database_at` does, and as `Database.check` does.
        UnavailableError: `store_unavailable`, where the database cannot be opened, locked or written.
    """
    target = database_at(database) if isinstance(database, str) else database
    config = _config()
    try:
        target.make()
        if not _is_current(target, config):
            _upgrade(target, config)
    except (SQLAlchemyError, OSError) as problem:
        message = f"the database cannot be prepared: {quoted(problem.args[0] if problem.args else problem)}"
        raise UnavailableError(message, code="store_unavailable") from problem


def _is_current(database: Database, config: Config) -> bool:
    engine = database.reading_engine()
    try:
        with engine.begin() as connection:
            database.check(connection)
            return _state(connection, config).current
    finally:
        engine.dispose()


def _upgrade(database: Database, config: Config) -> None:
    engine = database.writing_engine()
    try:
        with engine.begin() as connection:
            database.lock_schema(connection)
            if _state(connection, config).current:
                return
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def _state(connection: Connection, config: Config) -> SchemaState:
    """Return which revision a database has.

    Raises:
        ConfigError: `schema_newer`.
    """
    scripts = ScriptDirectory.from_config(config)
    present = MigrationContext.configure(connection).get_current_heads()
    known = {script.revision for script in scripts.walk_revisions()}
    unknown = [revision for revision in present if revision not in known]
    if unknown:
        message = f"the database has schema {quoted(unknown[0])}, which this version does not know; install a newer one"
        raise ConfigError(message, code="schema_newer")
    return SchemaState(present="".join(present), newest="".join(scripts.get_heads()))
