"""Files that hold secrets: made once, read only if nobody else can.

Rules:

- Keys lie in a directory of mode 0700 that is not inside the database's, so that no copy of a database has them.
- A key file is a regular file of this user with mode 0600, neither link nor readable by others; anything else is
  refused, never mended.
- A key is made once: written whole under another name, then linked into place, so that of several processes one
  makes it and the others read it.

It does not: know what is in a file (`keys.py` does).
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from negotiator.errors import ConfigError, quoted

__all__ = ["key_file_faults", "load_key_files", "load_or_make_key_file", "load_secret_file"]

MAX_KEY_FILE_BYTES: Final = 16_384


def load_or_make_key_file(
    directory: Path, name: str, *, database_directory: Path | None, new_content: Callable[[], bytes]
) -> bytes:
    """Return the content of the key file `name`, made if it is not there yet.

    Args:
        directory: made with mode 0700 if it is not there; its parent must be.
        name: of the file in it.
        database_directory: where the database's files are; None for a database elsewhere.
        new_content: gives the bytes of a new key.

    Raises:
        ConfigError: `key_file_unsafe` or `key_file_unreadable`, naming the path.
    """
    path = directory / name
    try:
        _check_directory(directory, database_directory)
        if not os.path.lexists(path):
            _make(path, new_content())
        return _load(path)
    except OSError as problem:
        message = f"the key file {quoted(path)} cannot be used: {problem.strerror or problem}"
        raise ConfigError(message, code="key_file_unreadable") from None


def load_key_files(directory: Path, pattern: str, *, database_directory: Path | None) -> Mapping[str, bytes]:
    """Return name to content of the key files that match `pattern`, by name. Makes nothing.

    Args:
        directory: need not be there.
        pattern: as `Path.glob` takes it.
        database_directory: where the database's files are; None for a database elsewhere.

    Raises:
        ConfigError: as `load_or_make_key_file` does.
    """
    try:
        _check_present(directory, database_directory)
        return {path.name: _load(path) for path in sorted(directory.glob(pattern))}
    except OSError as problem:
        message = f"the key files in {quoted(directory)} cannot be used: {problem.strerror or problem}"
        raise ConfigError(message, code="key_file_unreadable") from None


def load_secret_file(path: Path, *, database_directory: Path | None) -> bytes:
    """Return the content of one file that holds a secret, wherever it lies. Makes nothing.

    Args:
        path: of the file.
        database_directory: where the database's files are, and this one may not be; None for a database elsewhere.

    Raises:
        ConfigError: `key_file_unsafe` or `key_file_unreadable`, naming the path.
    """
    try:
        _check_place(path, database_directory)
        return _load(path)
    except OSError as problem:
        message = f"the file {quoted(path)} cannot be used: {problem.strerror or problem}"
        raise ConfigError(message, code="key_file_unreadable") from None


def key_file_faults(directory: Path, *, database_directory: Path | None) -> list[ConfigError]:
    """Return what would keep the key files in `directory` from being used. Makes nothing and changes nothing.

    Args:
        directory: need not be there.
        database_directory: where the database's files are; None for a database elsewhere.
    """
    faults = []
    for look in (lambda: _check_present(directory, database_directory), *_looks(directory)):
        try:
            look()
        except ConfigError as fault:
            faults.append(fault)
        except OSError as problem:
            message = f"the key files in {quoted(directory)} cannot be used: {problem.strerror or problem}"
            faults.append(ConfigError(message, code="key_file_unreadable"))
    return faults


def _looks(directory: Path) -> list[Callable[[], object]]:
    try:
        return [partial(_load, path) for path in sorted(directory.iterdir())]
    except OSError:
        return []


def _check_present(directory: Path, database_directory: Path | None) -> None:
    _check_place(directory, database_directory)
    if os.path.lexists(directory):
        _check_kind(directory)


def _check_directory(directory: Path, database_directory: Path | None) -> None:
    """Make the directory, or refuse one that others can read or that a copy of the database would take along."""
    _check_place(directory, database_directory)
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    _check_kind(directory)


def _check_place(directory: Path, database_directory: Path | None) -> None:
    real = directory.resolve()
    if database_directory is not None and real.is_relative_to(database_directory.resolve()):
        raise _unsafe(directory, "lies inside the database's directory; give keys a directory of their own")


def _check_kind(directory: Path) -> None:
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise _unsafe(directory, "is not a directory; links are not followed")
    _check_owner_and_mode(directory, found, "chmod 700 it")


def _check_owner_and_mode(path: Path, found: os.stat_result, remedy: str) -> None:
    if found.st_uid != os.geteuid():
        raise _unsafe(path, "belongs to another user")
    if found.st_mode & 0o077:
        raise _unsafe(path, f"can be used by others (mode {stat.S_IMODE(found.st_mode):04o}); {remedy}")


def _make(path: Path, content: bytes) -> None:
    """Put a new file in place at once, unless another process was first."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _load(path: Path) -> bytes:
    """Return the content of a key file, after looking at the very file that was opened."""
    if path.is_symlink():
        raise _unsafe(path, "is a link; put the file itself there")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _unsafe(path, "is no regular file")
        _check_owner_and_mode(path, found, "chmod 600 it")
        return os.read(descriptor, MAX_KEY_FILE_BYTES)
    finally:
        os.close(descriptor)


def _unsafe(path: Path, what: str) -> ConfigError:
    message = f"{quoted(path)} {what}"
    return ConfigError(message, code="key_file_unsafe")
