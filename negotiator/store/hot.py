"""Core statements, compiled once and run on the driver's own cursor.

Every governed request runs a handful of them inside the one writer, so that SQLAlchemy's execution layer would be
most of the time. What runs is still the text that Core compiles from `statements.py` for the dialect in use; a test
runs every statement both ways and compares.

Rules:

- A statement is compiled when it is first run, and never again in that process.
- Results are always fetched whole: an open result would keep COMMIT and RELEASE from working.
- `rows`, `row` and `changed` wait for what they return, `run` and `insert_all` for nothing; where that makes a
  difference (pipeline mode), `settle` is how one waits.
- `before` is called ahead of each change: the writer opens its savepoint there, and only there. A query leaves
  nothing behind that would have to be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import ClauseElement, Dialect
from sqlalchemy.engine.interfaces import DBAPICursor

__all__ = ["Hot", "Row", "Sql"]

Row: TypeAlias = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Text:
    """A compiled statement: its text, the order of its parameters (None: by name), and those that Core put in."""

    sql: str
    order: tuple[str, ...] | None
    constants: Mapping[str, Any]

    def parameters(self, values: Mapping[str, Any]) -> tuple[Any, ...] | dict[str, Any]:
        given = {**self.constants, **values}
        return given if self.order is None else tuple(given[name] for name in self.order)


class Hot:
    """The compiled statements of one process and dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._texts: dict[ClauseElement, _Text] = {}

    def text(self, statement: ClauseElement) -> _Text:
        """Return the compiled form of `statement`."""
        found = self._texts.get(statement)
        if found is None:
            found = self._texts[statement] = self._compile(statement)
        return found

    def _compile(self, statement: ClauseElement) -> _Text:
        compiled = statement.compile(dialect=self._dialect)
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        order: Sequence[str] | None = getattr(compiled, "positiontup", None)
        by_name = order is None and bool(compiled.params)
        return _Text(str(compiled), None if by_name else tuple(order or ()), constants)


class Sql:
    """Runs statements on one cursor, inside a transaction that somebody else began and will end."""

    def __init__(
        self,
        cursor: DBAPICursor,
        hot: Hot,
        *,
        before: Callable[[], None] | None = None,
        settle: Callable[[], None] | None = None,
    ) -> None:
        self._cursor = cursor
        self._hot = hot
        self._before = before
        self._settle = settle

    def rows(self, statement: ClauseElement, **values: object) -> list[Row]:
        """Return every row of a query."""
        self._execute(statement, values)
        return list(self._cursor.fetchall())

    def row(self, statement: ClauseElement, **values: object) -> Row | None:
        """Return the first row of a query, or None."""
        found = self.rows(statement, **values)
        return found[0] if found else None

    def changed(self, statement: ClauseElement, **values: object) -> int:
        """Run a change and return how many rows it touched."""
        self._announce()
        self._execute(statement, values)
        if self._settle is not None:
            self._settle()
        return self._cursor.rowcount

    def run(self, statement: ClauseElement, **values: object) -> None:
        """Run a change whose effect is certain; a failure shows at the next statement that is waited for."""
        self._announce()
        self._execute(statement, values)

    def insert_all(self, statement: ClauseElement, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run an insert once for each row."""
        text = self._hot.text(statement)
        self._announce()
        parameters: Any = [text.parameters(row) for row in rows]
        self._cursor.executemany(text.sql, parameters)

    def _execute(self, statement: ClauseElement, values: Mapping[str, Any]) -> None:
        text = self._hot.text(statement)
        self._cursor.execute(text.sql, text.parameters(values))

    def _announce(self) -> None:
        if self._before is not None:
            self._before()
