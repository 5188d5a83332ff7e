"""Copies of a database: a backup file, and a database made of one.

Rules:

- A backup is an SQLite file, whatever the database is: the rows of one state, table by table, in the same schema.
  It holds no keys: those lie elsewhere and are kept elsewhere.
- A copy goes into an empty database only; nothing is ever overwritten. Of a copy that failed nothing stays.
- A restored database begins a new epoch in each project's ledger: an `admin` entry says from where on, and every
  negotiation, session and pending consent request of before is ended, so that what was ended or spent after the
  backup does not come to life again. Approvals name their epoch: those of another one are void.
- The chain of every project is verified before the first row is written.

It does not: look at checkpoints, or bring keys along.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any, Final

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import SQLAlchemyError

from negotiator.errors import ConfigError, UnavailableError, quoted
from negotiator.ledger import ChainHead, PlacedEntry, verify_chain
from negotiator.model.consents import ConsentState
from negotiator.model.entries import EntryDraft, EntryKind
from negotiator.model.times import format_time, parse_time
from negotiator.ports import Clock
from negotiator.store import statements
from negotiator.store.database import Database
from negotiator.store.engine import database_at
from negotiator.store.reads import octets
from negotiator.store.schema import migrate, schema_of
from negotiator.store.tables import ledger_entries, metadata
from negotiator.store.transaction import entry_row

__all__ = ["Copied", "back_up", "restore"]

_ROWS_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy holds.

    Attributes:
        projects: name of each project to the number of its entries.
        rows: how many rows there are in all.
    """

    projects: dict[str, int]
    rows: int


def back_up(url: str, file: Path) -> Copied:
    """Write the database at `url` to a new `file` (mode 0600).

    Raises:
        ConfigError: `already_there`, `schema_behind`, and as `database_at` does.
        IntegrityError: a chain is broken; nothing stays.
        UnavailableError: `store_unavailable`.
    """
    source = database_at(url)
    with _new_file(file) as draft:
        target = database_at(f"sqlite:///{draft}")
        migrate(target)
        with _connections(source, target) as (reading, writing):
            return _copy(reading, writing)


def restore(file: Path, url: str, *, clock: Clock, reason: str, actor: str) -> Copied:
    """Fill the empty database at `url` with a backup, in a new epoch.

    Args:
        file: as `back_up` wrote it.
        url: a database without projects.
        clock: gives the time of the entries that say so.
        reason: why, for the ledger.
        actor: who, for the ledger.

    Raises:
        ConfigError: `file_unreadable`, `backup_empty`, `database_not_empty`, `schema_newer`, and as `database_at` does.
        IntegrityError: a chain of the backup is broken; nothing was written.
        UnavailableError: `store_unavailable`.
    """
    if not file.is_file():
        message = f"there is no backup {quoted(file)}"
        raise ConfigError(message, code="file_unreadable")
    target = database_at(url)
    migrate(target)
    with TemporaryDirectory() as folder:
        source = database_at(f"sqlite:///{copyfile(file, Path(folder) / 'backup.db')}")
        migrate(source)
        with _connections(source, target) as (reading, writing):
            _check_empty(writing)
            copied = _copy(reading, writing)
            if not copied.projects:
                message = f"{quoted(file)} holds no project"
                raise ConfigError(message, code="backup_empty")
            for project in copied.projects:
                _begin_epoch(writing, project, clock=clock, reason=reason, actor=actor)
            return copied


@contextmanager
def _connections(source: Database, target: Database) -> Iterator[tuple[Connection, Connection]]:
    """Give a connection that reads one state and one whose changes are committed if nothing fails."""
    readers, writers = source.reading_engine(), target.writing_engine()
    try:
        with readers.begin() as reading:
            if not schema_of(reading).current:
                message = "the database has an older schema; run `negotiator store migrate` first"
                raise ConfigError(message, code="schema_behind")
            with writers.begin() as writing:
                target.lock_schema(writing)
                yield reading, writing
    except SQLAlchemyError as problem:
        message = f"the database cannot be copied: {quoted(problem.args[0] if problem.args else problem)}"
        raise UnavailableError(message, code="store_unavailable") from problem
    finally:
        readers.dispose()


@contextmanager
def _new_file(file: Path) -> Iterator[Path]:
    """Give the name of a draft that becomes `file` if nothing fails.

    Raises:
        ConfigError: `already_there`, `folder_unwritable`.
    """
    draft = file.with_name(f".{file.name}.part")
    try:
        if file.exists():
            message = f"{quoted(file)} is there already; a backup never overwrites"
            raise ConfigError(message, code="already_there")
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield draft
        os.link(draft, file)
    except OSError as problem:
        message = f"the backup {quoted(file)} cannot be written: {problem.strerror or problem}"
        raise ConfigError(message, code="folder_unwritable") from None
    finally:
        for name in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-shm"))):
            name.unlink(missing_ok=True)


def _copy(reading: Connection, writing: Connection) -> Copied:
    """Copy every row, after verifying every chain."""
    projects = {str(name): _verified(reading, str(name)) for (name,) in reading.execute(statements.PROJECTS)}
    rows = 0
    for table in metadata.sorted_tables:
        found = reading.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table))
        for part in found.mappings().partitions(_ROWS_AT_ONCE):
            writing.execute(insert(table), [dict(row) for row in part])
            rows += len(part)
    return Copied(projects=projects, rows=rows)


def _verified(reading: Connection, project: str) -> int:
    """Return how many entries a project's chain has.

    Raises:
        IntegrityError: as `verify_chain` does.
    """
    size = reading.execute(statements.HEAD, {"of_project": project}).one().size
    lines = reading.execution_options(yield_per=_ROWS_AT_ONCE).execute(
        statements.ENTRY_LINES, {"of_project": project, "start": 0, "stop": size + 1}
    )
    return verify_chain((octets(line) for (line,) in lines), project=project, expected_entries=size).entries


def _check_empty(writing: Connection) -> None:
    if writing.execute(statements.PROJECTS).first() is not None:
        message = "the database holds projects already; restore into an empty one"
        raise ConfigError(message, code="database_not_empty")


def _begin_epoch(writing: Connection, project: str, *, clock: Clock, reason: str, actor: str) -> None:
    """End every negotiation of before, and say in the ledger that a new epoch begins."""
    row = writing.execute(statements.HEAD, {"of_project": project}).one()
    head = ChainHead(project, row.epoch, row.size, row.prev, parse_time(row.time))
    now = max(clock.now(), head.time)
    ended = writing.execute(
        statements.END_NEGOTIATIONS,
        {"of_project": project, "at": format_time(now), "new_ended_at": format_time(now)},
    ).rowcount
    consents = writing.execute(
        statements.END_CONSENT_REQUESTS,
        {"of_project": project, "new_state": ConsentState.EXPIRED.value, "new_ended_at": format_time(now)},
    ).rowcount
    signed_in = writing.execute(statements.END_SESSIONS, {"of_project": project, "at": format_time(now)}).rowcount
    draft = EntryDraft(
        kind=EntryKind.ADMIN,
        members={
            "decision": "allow",
            "code": "restored",
            "actor": {"type": "Host", "id": actor},
            "reason": reason,
            "restored_size": head.size,
            "restored_epoch": head.epoch,
            "negotiations_ended": ended,
            "consents_ended": consents,
            "sessions_ended": signed_in,
        },
    )
    after, placed = replace(head, epoch=head.epoch + 1).append(draft, now=now)
    _write(writing, draft, placed, before=head, after=after)


def _write(writing: Connection, draft: EntryDraft, placed: PlacedEntry, *, before: ChainHead, after: ChainHead) -> None:
    entry: dict[str, Any] = entry_row(before.project, draft, placed)
    writing.execute(insert(ledger_entries), entry)
    writing.execute(
        statements.MOVE_HEAD,
        {
            "of_project": before.project,
            "old_size": before.size,
            "new_epoch": after.epoch,
            "new_size": after.size,
            "new_prev": after.prev,
            "new_time": format_time(after.time),
        },
    )
