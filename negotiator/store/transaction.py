"""One batch of units in one database transaction.

Rules:

- Units run one after the other. What one did, the next one sees; what a failed one did, nobody sees.
- A unit's savepoint opens before its first change, not before the unit: many units only look and append.
- `append` gives index and leaf hash at once, from a chain head that was read under the lock in this transaction.
  The rows are written together when the units are done. A failed unit gives its indices back.
- After any failure the batch looks whether its transaction still stands (`Database.stands`). If not, nothing of the
  batch may be taken as done.
- What nobody reads the result of is not waited for; its failure shows at the next statement that is, or at COMMIT.

It does not: own the connection, begin again, or answer callers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import PoolProxiedConnection

from negotiator.ledger import ChainHead, PlacedEntry, genesis
from negotiator.model.entries import EntryDraft, EntryPosition
from negotiator.model.times import format_time, parse_time
from negotiator.ports import Clock, Tx
from negotiator.store import statements, tables
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
    StateRows,
    TaskRows,
)
from negotiator.store.database import Database
from negotiator.store.hot import Hot, Sql
from negotiator.store.people_rows import PeopleRows
from negotiator.store.rows import bounded

__all__ = ["Batch", "TransactionLostError", "UnitTx", "entry_row"]

T = TypeVar("T")


class TransactionLostError(Exception):
    """The whole transaction is given up; never leaves the store. Its cause says why."""


class HeadLostError(Exception):
    """Somebody else moved the head although we hold its lock, or it is not there; never leaves the store."""


@dataclass(slots=True)
class _Chain:
    """The head as this batch moves it, and the rows that it still owes."""

    head: ChainHead
    rows: list[dict[str, Any]] = field(default_factory=list)

    def append(self, draft: EntryDraft, now: datetime) -> EntryPosition:
        head, placed = self.head.append(draft, now=now)
        self.rows.append(entry_row(head.project, draft, placed))
        self.head = head
        return EntryPosition(index=placed.index, leaf_hash=placed.leaf_hash)

    def mark(self) -> tuple[ChainHead, int]:
        return self.head, len(self.rows)

    def put_back(self, mark: tuple[ChainHead, int]) -> None:
        self.head, kept = mark
        del self.rows[kept:]


def entry_row(project: str, draft: EntryDraft, placed: PlacedEntry) -> dict[str, Any]:
    """Return the row of an entry; `subject` is the id of the member `principal`, the rest has the members' names."""
    members = draft.members
    principal = members.get("principal")
    row = {
        "project_id": project,
        "index": placed.index,
        "time": placed.time,
        "kind": draft.kind.value,
        "decision_id": _text(members.get("decision_id")),
        "subject": _text(principal.get("id") if isinstance(principal, Mapping) else principal),
        "action": _text(members.get("action")),
        "line": placed.line,
        "leaf_hash": placed.leaf_hash,
    }
    return bounded(tables.ledger_entries, row)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class _Savepoint:
    """A savepoint on the driver's cursor that opens when it is first needed."""

    __slots__ = ("_cursor", "_open")

    def __init__(self, cursor: Any) -> None:  # noqa: ANN401 - DBAPI cursors share no type
        self._cursor = cursor
        self._open = False

    def open(self) -> None:
        if not self._open:
            self._cursor.execute("SAVEPOINT unit")
            self._open = True

    def release(self) -> None:
        if self._open:
            self._cursor.execute("RELEASE SAVEPOINT unit")
            self._open = False

    def roll_back(self) -> None:
        if self._open:
            self._cursor.execute("ROLLBACK TO SAVEPOINT unit")
            self.release()


class UnitTx:
    """What a unit sees (`Tx`). It is of no use once its unit has returned."""

    __slots__ = ("_chain", "_sql", "epoch", "now", "owner", "project")

    def __init__(self, *, sql: Sql, chain: _Chain, project: str, owner: str, now: datetime) -> None:
        self._sql = sql
        self._chain = chain
        self.project = project
        self.owner = owner
        self.now = now
        self.epoch = chain.head.epoch

    def append(self, draft: EntryDraft) -> EntryPosition:
        """Give the entry its place; the row is written when the batch ends.

        Raises:
            NegotiatorError: as `entry_line` does; RequestError `text_not_storable`.
        """
        return self._chain.append(draft, self.now)

    @property
    def agents(self) -> AgentRows:
        """Agents and credentials."""
        return AgentRows(self._sql, self.project)

    @property
    def negotiations(self) -> NegotiationRows:
        """Negotiations."""
        return NegotiationRows(self._sql, self.project)

    @property
    def keys(self) -> KeyRows:
        """Signing keys."""
        return KeyRows(self._sql, self.project)

    @property
    def intents(self) -> IntentRows:
        """Effects between intent and outcome."""
        return IntentRows(self._sql, self.project)

    @property
    def idempotency(self) -> IdempotencyRows:
        """Idempotency keys that were used."""
        return IdempotencyRows(self._sql, self.project)

    @property
    def proposals(self) -> ProposalRows:
        """Memory proposals."""
        return ProposalRows(self._sql, self.project)

    @property
    def tasks(self) -> TaskRows:
        """Long tasks."""
        return TaskRows(self._sql, self.project)

    @property
    def evidence(self) -> EvidenceRows:
        """Evidence and those who may attest it."""
        return EvidenceRows(self._sql, self.project)

    @property
    def site_credentials(self) -> SiteCredentialRows:
        """The site's own credentials."""
        return SiteCredentialRows(self._sql, self.project)

    @property
    def consents(self) -> ConsentRows:
        """Consent requests."""
        return ConsentRows(self._sql, self.project)

    @property
    def approvals(self) -> ApprovalRows:
        """Approvals."""
        return ApprovalRows(self._sql, self.project)

    @property
    def people(self) -> PeopleRows:
        """Accounts of people."""
        return PeopleRows(self._sql, self.project)

    @property
    def state(self) -> StateRows:
        """What was in force when it was last recorded."""
        return StateRows(self._sql, self.project)


class Batch:
    """A transaction from its BEGIN to its COMMIT. Any exception but a unit's own means: close the connection."""

    def __init__(
        self,
        connection: PoolProxiedConnection,
        hot: Hot,
        *,
        database: Database,
        settle: Callable[[], None],
        project: str,
        owner: str,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._database = database
        self._settle = settle
        self._cursor = connection.cursor()
        self._savepoint = _Savepoint(self._cursor)
        self._batch_sql = Sql(self._cursor, hot, settle=settle)
        self._unit_sql = Sql(self._cursor, hot, before=self._savepoint.open, settle=settle)
        self._project = project
        self._owner = owner
        self._clock = clock
        self._chain = _Chain(genesis(project))
        self._old_size = 0

    def begin(self) -> None:
        """Take the write lock, then read the head."""
        self._database.begin(self._cursor)
        row = self._batch_sql.row(statements.LOCK_HEAD, of_project=self._project)
        if row is None:
            message = f"project {self._project} has no head row"
            raise HeadLostError(message)
        epoch, self._old_size, prev, time = row
        self._chain = _Chain(ChainHead(self._project, epoch, self._old_size, prev, parse_time(time)))

    def run(self, unit: Callable[[Tx], T]) -> T:
        """Run a unit; if it fails, nothing of it stays and its exception goes on.

        Raises:
            TransactionLostError: nothing of the batch stays.
        """
        mark = self._chain.mark()
        now = max(self._clock.now(), self._chain.head.time)
        tx = UnitTx(sql=self._unit_sql, chain=self._chain, project=self._project, owner=self._owner, now=now)
        try:
            value = unit(tx)
            self._savepoint.release()
        except BaseException as problem:
            self._put_back(mark, problem)
            raise
        return value

    def _put_back(self, mark: tuple[ChainHead, int], problem: BaseException) -> None:
        self._chain.put_back(mark)
        if not self._database.stands(self._connection, problem):
            raise TransactionLostError from problem
        self._savepoint.roll_back()

    def write_entries(self) -> None:
        """Write the entries of all units, and the head that they lead to."""
        if not self._chain.rows:
            return
        self._batch_sql.insert_all(statements.ADD_ENTRY, self._chain.rows)
        head = self._chain.head
        moved = self._batch_sql.changed(
            statements.MOVE_HEAD,
            of_project=self._project,
            old_size=self._old_size,
            new_epoch=head.epoch,
            new_size=head.size,
            new_prev=head.prev,
            new_time=format_time(head.time),
        )
        if moved != 1:
            message = f"the head of project {self._project} moved under its lock"
            raise HeadLostError(message)

    @property
    def entries(self) -> int:
        """How many entries the batch adds."""
        return len(self._chain.rows)

    @property
    def last_entry(self) -> tuple[int, str] | None:
        """Index and leaf hash of the batch's last entry: where it stands, the batch was committed."""
        if not self._chain.rows:
            return None
        last = self._chain.rows[-1]
        return last["index"], last["leaf_hash"]

    def leaf_hash(self, index: int) -> str | None:
        """Return the stored leaf hash of an entry."""
        row = self._batch_sql.row(statements.ENTRY_LEAF_HASH, of_project=self._project, at_index=index)
        return None if row is None else str(row[0])

    def commit(self) -> None:
        """Make it durable."""
        self._cursor.execute("COMMIT")
        self._settle()
        self._cursor.close()

    def give_up(self) -> None:
        """Leave the transaction without a trace."""
        self._cursor.execute("ROLLBACK")
        self._settle()
        self._cursor.close()
