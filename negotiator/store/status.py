"""What state a database is in, without changing anything in it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from negotiator.errors import UnavailableError, quoted
from negotiator.store import statements
from negotiator.store.engine import database_at, database_place
from negotiator.store.schema import SchemaState, schema_of

__all__ = ["ProjectStatus", "StoreStatus", "status_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatus:
    """One project's ledger and effects.

    Attributes:
        epoch: 1, and one more after each restore.
        open_effects: effects without an outcome.
    """

    project: str
    epoch: int
    entries: int
    last_time: str
    open_effects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """One database.

    Attributes:
        database: its URL, without a password.
        schema: the revision that it has; empty before the first.
        newest_schema: the revision that this code brings.
    """

    database: str
    schema: str
    newest_schema: str
    projects: tuple[ProjectStatus, ...]

    @property
    def current(self) -> bool:
        """Whether the schema is this code's."""
        return self.schema == self.newest_schema


def status_of(url: str) -> StoreStatus:
    """Return the state of the database at `url`.

    Raises:
        ConfigError: `schema_newer`, and as `database_at` does.
        UnavailableError: `store_unavailable`.
    """
    engine = database_at(url).looking_engine()
    try:
        with engine.begin() as connection:
            schema = schema_of(connection)
            return StoreStatus(
                database=database_place(url),
                schema=schema.present,
                newest_schema=schema.newest,
                projects=_projects(connection, schema),
            )
    except SQLAlchemyError as problem:
        message = f"the database cannot be read: {quoted(problem.args[0] if problem.args else problem)}"
        raise UnavailableError(message, code="store_unavailable") from problem
    finally:
        engine.dispose()


def _projects(connection: Connection, schema: SchemaState) -> tuple[ProjectStatus, ...]:
    if not schema.present:
        return ()
    return tuple(_project(connection, str(name)) for (name,) in connection.execute(statements.PROJECTS))


def _project(connection: Connection, name: str) -> ProjectStatus:
    head = connection.execute(statements.HEAD, {"of_project": name}).one()
    (open_effects,) = connection.execute(statements.COUNT_OPEN_INTENTS, {"of_project": name}).one()
    return ProjectStatus(
        project=name,
        epoch=head.epoch,
        entries=head.size,
        last_time=head.time if head.size else "",
        open_effects=int(open_effects),
    )
