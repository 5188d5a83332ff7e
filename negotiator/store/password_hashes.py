"""Argon2id with the low-memory parameters of RFC 9106 (64 MiB, three passes, four lanes): `PasswordHashes`."""

from __future__ import annotations

from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

__all__ = ["Argon2Hashes"]


class Argon2Hashes:
    """Hashes passwords (`PasswordHashes`). Safe to share between threads.

    Args:
        hasher: with other parameters, for tests.

    Source: RFC 9106 section 4.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)

    def make(self, password: str) -> str:
        """Return a verifier of `password`, with a fresh salt."""
        return self._hasher.hash(password)

    def matches(self, verifier: str, password: str) -> bool:
        """Whether `password` is the one. With an empty verifier it takes as long, and is False."""
        try:
            self._hasher.verify(verifier or self._nobodys, password)
        except (VerificationError, InvalidHashError):
            return False
        return bool(verifier)

    def is_outdated(self, verifier: str) -> bool:
        """Whether a verifier was made with other parameters than are used now."""
        return self._hasher.check_needs_rehash(verifier)

    @cached_property
    def _nobodys(self) -> str:
        """A verifier that nobody has."""
        return self._hasher.hash("nobody")
