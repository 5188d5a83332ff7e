"""The machine's clock, its randomness, and policy files in a folder: `ports.environment` on a real system."""

from __future__ import annotations

import os
import platform
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import uuid_utils

from negotiator.canonical import sha256_hex
from negotiator.errors import ConfigError, PolicyError, quoted
from negotiator.ports import Clock

__all__ = ["MAX_POLICY_FILES", "MAX_POLICY_FILE_BYTES", "FileSwitch", "PolicyFolder", "RandomIds", "SystemClock"]

SCHEMA_FILE: Final = "schema.cedarschema"
MAX_POLICY_FILE_BYTES: Final = 4_194_304
MAX_POLICY_FILES: Final = 10_000


class SystemClock:
    """The wall clock of this machine (`Clock`)."""

    def now(self) -> datetime:
        """Return the present time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


class RandomIds:
    """Identifiers and secrets from the system's randomness (`Ids`)."""

    def new(self) -> str:
        """Return a new UUIDv7 (RFC 9562 section 5.7)."""
        return str(uuid_utils.uuid7())

    def secret(self) -> str:
        """Return 32 fresh random bytes as URL-safe text without padding."""
        return secrets.token_urlsafe(32)


class FileSwitch:
    """A switch that is on while a file exists (`Switch`), for all processes that have the same path on the same host.

    - It is looked for at most once a second. Where it cannot be told whether the file exists, it counts as there.
    - Where the file cannot be made, the switch is on in this process alone, until it is turned off.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._place = sha256_hex(f"{platform.node()}:{path.absolute()}".encode())[:16]
        self._looked_at = float("-inf")
        self._file_is_there = True
        self._on_here = False

    @property
    def on(self) -> bool:
        """Whether it is on, as of less than a second ago."""
        if self._clock.monotonic() - self._looked_at >= 1.0:
            self.look()
        return self._on_here or self._file_is_there

    def look(self) -> Mapping[str, bool]:
        """Look at once."""
        self._looked_at, self._file_is_there = self._clock.monotonic(), self._is_there()
        return {self._place: self._file_is_there, "": self._on_here}

    def turn(self, *, on: bool) -> None:
        """Make the file or remove it.

        Raises:
            ConfigError: `kill_switch_unwritable`.
        """
        try:
            if on:
                self._make()
            else:
                self._path.unlink(missing_ok=True)
            self._on_here = False
        except OSError as problem:
            self._on_here = self._on_here or on
            what, why = "on" if on else "off", problem.strerror or problem
            message = f"the kill switch {quoted(self._path)} cannot be turned {what} for every process: {why}"
            raise ConfigError(message, code="kill_switch_unwritable") from None
        finally:
            self.look()

    def _make(self) -> None:
        if not os.path.lexists(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)

    def _is_there(self) -> bool:
        try:
            self._path.lstat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True


class PolicyFolder:
    """A folder of policy files (`PolicySource`).

    Rules:

    - Read are `*.cedar` at any depth and `schema.cedarschema` at the top; hidden names are left out.
    - A file may be a symbolic link to a file inside the folder, as mounted configuration has it. Whatever else looks
      like a policy but cannot be read as one (a folder, a link that leads out or nowhere, a pipe, `x.CEDAR`) is an
      error: leaving a policy out would be the laxer reading.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, bytes]:
        """Return relative POSIX path to content.

        Raises:
            PolicyError: `policy_unreadable`, naming the path.
        """
        try:
            root = self._path.resolve(strict=True)
            return {name: _content(root, path) for name, path in sorted(_policy_files(root))}
        except (OSError, RuntimeError, ValueError) as problem:
            message = f"the policies in {quoted(self._path)} cannot be read: {problem}"
            raise PolicyError(message, code="policy_unreadable") from None


def _policy_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield every policy file of the folder with its relative path.

    Raises:
        ValueError: there is something that must not be left out and cannot be taken.
    """
    for count, path in enumerate(_visible(root, root), start=1):
        if count > MAX_POLICY_FILES:
            message = f"there are more than {MAX_POLICY_FILES} files"
            raise ValueError(message)
        name = path.relative_to(root).as_posix()
        if path.suffix == ".cedar" or name == SCHEMA_FILE:
            yield name, path
        elif path.suffix.casefold() == ".cedar":
            message = f"{quoted(name)} must end in .cedar, in lower case"
            raise ValueError(message)


def _visible(root: Path, folder: Path) -> Iterator[Path]:
    """Yield what is no folder, at any depth, without hidden names."""
    for entry in sorted(os.scandir(folder), key=lambda found: found.name):
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False) and path.suffix.casefold() != ".cedar":
            yield from _visible(root, path)
        elif entry.is_symlink() and entry.is_dir():
            message = f"{quoted(path.relative_to(root).as_posix())} is a link to a folder; put the folder there"
            raise ValueError(message)
        else:
            yield path


def _content(root: Path, path: Path) -> bytes:
    """Return the bytes of a regular file inside `root`.

    Raises:
        ValueError: it is something else, somewhere else, or too large.
    """
    shown = quoted(path.relative_to(root).as_posix())
    real = path.resolve(strict=True)
    if not real.is_relative_to(root):
        message = f"{shown} leads out of the folder"
        raise ValueError(message)
    if not stat.S_ISREG(real.stat().st_mode):
        message = f"{shown} is no regular file"
        raise ValueError(message)
    with real.open("rb") as file:
        content = file.read(MAX_POLICY_FILE_BYTES + 1)
    if len(content) > MAX_POLICY_FILE_BYTES:
        message = f"{shown} is larger than {MAX_POLICY_FILE_BYTES} bytes"
        raise ValueError(message)
    return content
