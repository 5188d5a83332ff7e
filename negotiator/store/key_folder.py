"""The folder of key files, as what signs and verifies (`KeyFolder`).

Rules:

- The first key of a purpose is `<purpose>.key`, each later one `<purpose>-<part of its id>.key`. Which of them signs is
  not said by names: the store knows what was rotated.
- Files are read when they are asked for: a key that another process has made is seen, one that was taken away is gone.
- Nothing is deleted here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from negotiator.model.keys import KeyPurpose
from negotiator.store.keyfiles import load_key_files, load_or_make_key_file
from negotiator.store.keys import FileSigner, key_id_of, new_key, verified_claims

__all__ = ["FileKeys"]

_SHORT = 16


class FileKeys:
    """The keys in one folder.

    Args:
        directory: of the key files; made with the first of them.
        database_directory: where the database's files are; None for a database elsewhere.
    """

    def __init__(self, directory: Path, *, database_directory: Path | None) -> None:
        self._directory = directory
        self._database_directory = database_directory

    def signers(self, purpose: KeyPurpose) -> Sequence[FileSigner]:
        """Return the keys of that purpose whose files are here now.

        Raises:
            ConfigError: `key_file_unsafe` or `key_file_unreadable`, naming the path.
        """
        files = load_key_files(self._directory, f"{purpose}*.key", database_directory=self._database_directory)
        return [FileSigner.from_pem(content, self._directory / name) for name, content in files.items()]

    def first(self, purpose: KeyPurpose) -> FileSigner:
        """Return the oldest key of that purpose, made if there is none: processes that start at once have the same.

        Raises:
            ConfigError: as `signers` does.
        """
        if signers := self.signers(purpose):
            return signers[0]
        return self._at(f"{purpose}.key", new_key())

    def make(self, purpose: KeyPurpose) -> FileSigner:
        """Make a new key and its file.

        Raises:
            ConfigError: as `signers` does.
        """
        content, name = new_key(), f"{purpose}.key"
        if os.path.lexists(self._directory / name):
            key_id = FileSigner.from_pem(content, self._directory).key_id
            name = f"{purpose}-{key_id[:_SHORT]}.key"
        return self._at(name, content)

    def _at(self, name: str, content: bytes) -> FileSigner:
        """Return the key of that file, which has `content` if it is made now."""
        found = load_or_make_key_file(
            self._directory, name, database_directory=self._database_directory, new_content=lambda: content
        )
        return FileSigner.from_pem(found, self._directory / name)

    def verified(self, token: str, public: Callable[[str], str | None]) -> Mapping[str, Any]:
        """Return the claims of a token that one of our keys signed; see `verified_claims`."""
        return verified_claims(token, public)

    def key_id(self, token: str) -> str:
        """Return the `kid` that a token names, unchecked; empty where it names none."""
        return key_id_of(token)
