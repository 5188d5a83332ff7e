"""The schema's version: bring a database up to this code's, or say why not.

Rules:

- All missing migrations run in one transaction behind the write lock; a failure leaves nothing.
- The version is read again under the lock, so that several processes may start at once.
- A database whose schema is newer than the code is refused: this code would not know what it must keep true.
- A database that is up to date is not written to.
"""

from __future__ import annotations

from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection
from sqlalchemy.exc import SQLAlchemyError

from negotiator.errors import ConfigError, UnavailableError, quoted
from negotiator.store.engine import database_url, reading_engine, writing_engine

__all__ = ["migrate"]

_MIGRATIONS: Final = "negotiator.store:migrations"


def migrate(url: str | URL) -> None:
    """Bring the schema of the database at `url` up to this code's.

    Raises:
        ConfigError: `schema_newer`, and as `database_url` does.
        UnavailableError: `store_unavailable`, where the database cannot be opened, locked or written.
    """
    target = database_url(url) if isinstance(url, str) else url
    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    try:
        if not _is_current(target, config):
            _upgrade(target, config)
    except SQLAlchemyError as problem:
        message = f"the database cannot be prepared: {quoted(problem.args[0] if problem.args else problem)}"
        raise UnavailableError(message, code="store_unavailable") from problem


def _is_current(url: URL, config: Config) -> bool:
    engine = reading_engine(url)
    try:
        with engine.begin() as connection:
            return _at_head(connection, config)
    finally:
        engine.dispose()


def _upgrade(url: URL, config: Config) -> None:
    engine = writing_engine(url)
    try:
        with engine.begin() as connection:
            if _at_head(connection, config):
                return
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def _at_head(connection: Connection, config: Config) -> bool:
    """Whether the database is at the newest revision.

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
    return set(present) == set(scripts.get_heads())
