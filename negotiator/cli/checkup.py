"""What `negotiator doctor` looks at, one function for each thing, as data.

Rules:

- A check looks and says; it makes, mends and writes nothing, and opens no key or database that is not there yet.
- `problem` keeps the site from working or from being safe; `warning` is for somebody to know; `ok` says what was seen.
- What an error says is passed on as it is: errors name what is wrong and what to do.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from negotiator.assembly import load_engine
from negotiator.cli.reach import unmet_needs
from negotiator.config import Settings
from negotiator.errors import ConfigError, NegotiatorError, quoted
from negotiator.model.conditions import MAX_CLOCK_BEHIND_SECONDS
from negotiator.model.keys import KEY_PURPOSES
from negotiator.model.times import parse_time
from negotiator.ports import Clock
from negotiator.store import (
    FileKeys,
    OperatorToken,
    PepperVerifiers,
    database_directory,
    database_file,
    key_file_faults,
    status_of,
)

__all__ = ["CHECKS", "Diagnosis", "Subject", "disk_diagnosis", "examine", "unreadable"]

_WARN_BELOW_BYTES: Final = 1 << 30
_PROBLEM_BELOW_BYTES: Final = 64 << 20
_PEPPER: Final = "pepper.key"
_OTHERS, _GROUP = stat.S_IWOTH, stat.S_IWGRP


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What one look has shown.

    Attributes:
        about: what was looked at: `settings`, `keys`, `operator_token`, `database`, `disk`, `policies`, `routes`,
            `reach`, `files`.
        code: as in `docs/errors.md`; empty where all is well.
        detail: what was seen, and what to do about it.
    """

    about: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is examined.

    Attributes:
        file: the configuration's; None where there is none.
    """

    settings: Settings
    file: Path | None
    clock: Clock


def _settings(subject: Subject) -> Iterator[Diagnosis]:
    where = quoted(subject.file) if subject.file else "none; these are the demo site's, and the environment's"
    yield Diagnosis(about="settings", state="ok", detail=f"read, configuration file: {where}")


def _keys(subject: Subject) -> Iterator[Diagnosis]:
    folder, beside = subject.settings.keys_dir, database_directory(subject.settings.database)
    faults = key_file_faults(folder, database_directory=beside)
    yield from (_problem("keys", fault) for fault in faults)
    there = os.path.lexists(folder / _PEPPER)
    if not there and _has_entries(subject):
        detail = (
            f"{quoted(folder)} has no pepper.key, and without the first one no API token opens anything; restore it"
        )
        yield Diagnosis(about="keys", state="problem", code="key_file_missing", detail=detail)
    elif not faults:
        if there:
            PepperVerifiers.open(folder, database_directory=beside)
        keys = FileKeys(folder, database_directory=beside)
        there = bool([signer for purpose in KEY_PURPOSES for signer in keys.signers(purpose)]) or there
        seen = "of this user alone, apart from the database" if there else "not made yet; the first start makes them"
        yield Diagnosis(about="keys", state="ok", detail=f"{quoted(folder)}: {seen}")


def _operator_token(subject: Subject) -> Iterator[Diagnosis]:
    path = subject.settings.operator_token_file
    if path is not None:
        OperatorToken.open(path, database_directory=database_directory(subject.settings.database))
        yield Diagnosis(about="operator_token", state="ok", detail=f"{quoted(path)}: of this user alone")


def _has_entries(subject: Subject) -> bool:
    url = subject.settings.database
    file = database_file(url)
    if file is not None and not file.exists():
        return False
    try:
        return any(project.entries for project in status_of(url).projects)
    except NegotiatorError:
        return False


def _database(subject: Subject) -> Iterator[Diagnosis]:
    url = subject.settings.database
    file = database_file(url)
    if file is not None and not file.exists():
        yield _unmade(file)
        return
    found = status_of(url)
    if not found.current:
        detail = f"schema {found.schema or 'none'}; the next start brings it to {found.newest_schema}, or migrate now"
        yield Diagnosis(about="database", state="warning", code="schema_behind", detail=detail)
    else:
        yield Diagnosis(about="database", state="ok", detail=f"{found.database}: schema {found.schema}, current")
    allowed = subject.clock.now() + timedelta(seconds=MAX_CLOCK_BEHIND_SECONDS)
    for project in found.projects:
        if project.last_time and parse_time(project.last_time) > allowed:
            detail = f"the last entry of {project.project} is of {project.last_time}, ahead of the clock; set the clock"
            yield Diagnosis(about="database", state="problem", code="clock_behind", detail=detail)


def _unmade(file: Path) -> Diagnosis:
    folder = _present(file.parent)
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return Diagnosis(about="database", state="ok", detail=f"{quoted(file)} is made at the first start")
    detail = f"{quoted(file)} cannot be made: {quoted(folder)} is no folder in which this user may write"
    return Diagnosis(about="database", state="problem", code="database_directory_missing", detail=detail)


def _disk(subject: Subject) -> Iterator[Diagnosis]:
    folder = database_directory(subject.settings.database)
    if folder is not None:
        yield disk_diagnosis(shutil.disk_usage(_present(folder)).free)


def disk_diagnosis(free_bytes: int) -> Diagnosis:
    """Return what so much free space on the database's disk means."""
    detail = f"{free_bytes >> 20} MiB are free on the database's disk"
    if free_bytes >= _WARN_BELOW_BYTES:
        return Diagnosis(about="disk", state="ok", detail=detail)
    state: Literal["warning", "problem"] = "problem" if free_bytes < _PROBLEM_BELOW_BYTES else "warning"
    return Diagnosis(about="disk", state=state, code="disk_low", detail=f"{detail}; when it is full nothing is allowed")


def _policies(subject: Subject) -> Iterator[Diagnosis]:
    engine = load_engine(subject.settings.policies_dir, project=subject.settings.project)
    count = len(engine.bundle.policies)
    if not count:
        detail = "there is no policy, so everything is denied; add *.cedar files"
        yield Diagnosis(about="policies", state="warning", code="policies_empty", detail=detail)
    else:
        detail = f"{count}, self-test passed, bundle {engine.bundle.digest}"
        yield Diagnosis(about="policies", state="ok", detail=detail)
    unfit = [r for r in subject.settings.rules if not engine.applies(r.action, r.resource.type)]
    for rule in unfit:
        detail = f"{rule.label}: the schema has no action {rule.action} upon a {rule.resource.type}"
        yield Diagnosis(about="routes", state="problem", code="route_unfit", detail=detail)
    if not unfit:
        detail = f"{len(subject.settings.rules)}, each with an action that the policies know"
        yield Diagnosis(about="routes", state="ok", detail=detail)


def _reach(subject: Subject) -> Iterator[Diagnosis]:
    needs = unmet_needs(subject.settings)
    for need in needs:
        detail = f"only this machine can be served: serving others {need.remedy}"
        yield Diagnosis(about="reach", state="warning", code=need.code, detail=detail)
    if not needs:
        names = ", ".join(subject.settings.hosts)
        yield Diagnosis(about="reach", state="ok", detail=f"{subject.settings.public_url}, answering to {names}")


def _files(subject: Subject) -> Iterator[Diagnosis]:
    """What decides must be the operator's alone to change."""
    deciding = list(_deciding(subject))
    found = [diagnosis for path in deciding if (diagnosis := _writable(path))]
    yield from found
    if deciding and not found:
        yield Diagnosis(about="files", state="ok", detail="nobody else may write the configuration or the policies")


def _deciding(subject: Subject) -> Iterator[Path]:
    if subject.file is not None:
        yield subject.file
    folder = subject.settings.policies_dir
    if folder is not None and folder.is_dir():
        yield folder
        yield from (
            path for path in sorted(folder.rglob("*")) if path.suffix in {".cedar", ".cedarschema"} or path.is_dir()
        )


def _writable(path: Path) -> Diagnosis | None:
    mode = path.stat().st_mode
    if not mode & (_OTHERS | _GROUP):
        return None
    state: Literal["warning", "problem"] = "problem" if mode & _OTHERS else "warning"
    whose = "everybody" if mode & _OTHERS else "its group"
    detail = f"{quoted(path)} can be written by {whose} (mode {stat.S_IMODE(mode):04o}); chmod go-w it"
    return Diagnosis(about="files", state=state, code="writable_by_others", detail=detail)


def _present(folder: Path) -> Path:
    """Return the folder, or what is nearest above it."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _problem(about: str, error: NegotiatorError) -> Diagnosis:
    return Diagnosis(about=about, state="problem", code=error.code, detail=error.message)


def examine(subject: Subject) -> Sequence[Diagnosis]:
    """Return what every check has seen; one that fails is a problem of its own and stops no other."""
    return [diagnosis for about, check in CHECKS.items() for diagnosis in _looked(about, check, subject)]


def unreadable(error: ConfigError) -> Sequence[Diagnosis]:
    """Return the one diagnosis of settings that cannot be read: nothing else can be looked at."""
    return [_problem("settings", error)]


def _looked(about: str, check: Callable[[Subject], Iterator[Diagnosis]], subject: Subject) -> Sequence[Diagnosis]:
    try:
        return list(check(subject))
    except NegotiatorError as error:
        return [_problem(about, error)]
    except OSError as error:
        refused = ConfigError(f"{about} cannot be looked at: {error}", code="not_possible")
        return [_problem(about, refused)]


CHECKS: dict[str, Callable[[Subject], Iterator[Diagnosis]]] = {
    "settings": _settings,
    "keys": _keys,
    "operator_token": _operator_token,
    "database": _database,
    "disk": _disk,
    "policies": _policies,
    "reach": _reach,
    "files": _files,
}
"""In the order in which they are shown."""
