"""Reading committed state: one read-only transaction for each query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from negotiator.errors import UnavailableError
from negotiator.ports import Reader
from negotiator.store import statements
from negotiator.store.aggregates import (
    AgentRows,
    ApprovalRows,
    ConsentRows,
    EvidenceRows,
    IdempotencyRows,
    IntentRows,
    KeyRows,
    NegotiationRows,
    ProposalRows,
    SiteCredentialRows,
    TaskRows,
)
from negotiator.store.hot import Hot, Sql
from negotiator.store.people_rows import PeopleRows

__all__ = ["LedgerRows", "StoreReader", "octets", "read"]

T = TypeVar("T")

_LINES_AT_ONCE = 500


class LedgerRows:
    """The committed ledger (`LedgerReads`)."""

    __slots__ = ("_project", "_sql")

    def __init__(self, sql: Sql, project: str) -> None:
        self._sql = sql
        self._project = project

    def size(self) -> int:
        """Return how many entries the head row counts."""
        _epoch, size, _prev, _time = self._sql.rows(statements.HEAD, of_project=self._project)[0]
        return int(size)

    def lines(self, *, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the lines with start ≤ index < stop, in order; only within the query that asked.

        What is yielded is what stands there, whatever the head row says: a gap is for verification to find.
        """
        end = self._end() if stop is None else stop
        for first in range(start, end, _LINES_AT_ONCE):
            last = min(first + _LINES_AT_ONCE, end)
            rows = self._sql.rows(statements.ENTRY_LINES, of_project=self._project, start=first, stop=last)
            yield from (octets(line) for (line,) in rows)

    def leaf_hash(self, index: int) -> str | None:
        """Return the stored leaf hash of an entry."""
        row = self._sql.row(statements.ENTRY_LEAF_HASH, of_project=self._project, at_index=index)
        return None if row is None else str(row[0])

    def _end(self) -> int:
        last = self._sql.rows(statements.LAST_INDEX, of_project=self._project)[0][0]
        return 0 if last is None else int(last) + 1


def octets(line: object) -> bytes:
    """Return a stored line as bytes, also where somebody has stored something else in its place."""
    return line if isinstance(line, bytes) else str(line).encode()


class StoreReader:
    """A consistent view of one project (`Reader`)."""

    __slots__ = ("_project", "_sql")

    def __init__(self, sql: Sql, project: str) -> None:
        self._sql = sql
        self._project = project

    @property
    def agents(self) -> AgentRows:
        """Registered agents."""
        return AgentRows(self._sql, self._project)

    @property
    def negotiations(self) -> NegotiationRows:
        """Stored negotiations."""
        return NegotiationRows(self._sql, self._project)

    @property
    def keys(self) -> KeyRows:
        """Signing keys."""
        return KeyRows(self._sql, self._project)

    @property
    def intents(self) -> IntentRows:
        """Effects between intent and outcome."""
        return IntentRows(self._sql, self._project)

    @property
    def idempotency(self) -> IdempotencyRows:
        """Idempotency keys that were used."""
        return IdempotencyRows(self._sql, self._project)

    @property
    def proposals(self) -> ProposalRows:
        """Memory proposals."""
        return ProposalRows(self._sql, self._project)

    @property
    def tasks(self) -> TaskRows:
        """Long tasks."""
        return TaskRows(self._sql, self._project)

    @property
    def evidence(self) -> EvidenceRows:
        """Evidence and those who may attest it."""
        return EvidenceRows(self._sql, self._project)

    @property
    def site_credentials(self) -> SiteCredentialRows:
        """The site's own credentials."""
        return SiteCredentialRows(self._sql, self._project)

    @property
    def consents(self) -> ConsentRows:
        """Consent requests."""
        return ConsentRows(self._sql, self._project)

    @property
    def approvals(self) -> ApprovalRows:
        """Approvals."""
        return ApprovalRows(self._sql, self._project)

    @property
    def people(self) -> PeopleRows:
        """Accounts of people."""
        return PeopleRows(self._sql, self._project)

    @property
    def ledger(self) -> LedgerRows:
        """The committed ledger."""
        return LedgerRows(self._sql, self._project)


def read(engine: Engine, hot: Hot, project: str, query: Callable[[Reader], T]) -> T:
    """Run `query` in a transaction of its own, and roll that back.

    Raises:
        UnavailableError: `store_unavailable`; what the query itself raises goes through.
    """
    driver_error = engine.dialect.loaded_dbapi.Error
    try:
        with engine.connect() as connection, connection.begin() as transaction:
            value = query(StoreReader(Sql(connection.connection.cursor(), hot), project))
            transaction.rollback()
            return value
    except (SQLAlchemyError, driver_error) as problem:
        message = "the store cannot be read now; try again"
        raise UnavailableError(message, code="store_unavailable") from problem
