"""Time, ids, keys and policy files, so that services are functions of what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from negotiator.model.evidence import Attestation
from negotiator.model.keys import KeyPurpose

__all__ = ["Attestations", "Clock", "Disk", "Ids", "KeyFolder", "PolicySource", "Signer", "Switch", "Verifiers"]


class Clock(Protocol):
    """The wall clock."""

    def now(self) -> datetime:
        """Return the present time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back, for budgets and leases."""
        ...


class Ids(Protocol):
    """New identifiers and secrets."""

    def new(self) -> str:
        """Return a new UUIDv7 in its canonical text form."""
        ...

    def secret(self) -> str:
        """Return 32 fresh random bytes as URL-safe text without padding."""
        ...


class Signer(Protocol):
    """The private half of one Ed25519 key."""

    @property
    def key_id(self) -> str:
        """The key's RFC 7638 thumbprint."""
        ...

    @property
    def public(self) -> str:
        """The public half, base64url without padding."""
        ...

    def sign(self, claims: Mapping[str, Any], *, purpose: KeyPurpose = "token") -> str:
        """Return the compact JWS of `claims`, by default a negotiation token; the same claims give the same bytes."""
        ...


class KeyFolder(Protocol):
    """The private halves that this host has, and what they and others have signed."""

    def signers(self, purpose: KeyPurpose) -> Sequence[Signer]:
        """Return the keys of that purpose whose files are here now.

        Raises:
            ConfigError: `key_file_unsafe` or `key_file_unreadable`, naming the path.
        """
        ...

    def make(self, purpose: KeyPurpose) -> Signer:
        """Make a new key and its file.

        Raises:
            ConfigError: as `signers` does.
        """
        ...

    def verified(self, token: str, public: Callable[[str], str | None]) -> Mapping[str, Any]:
        """Return the claims of a token that one of our keys signed; `exp` is not looked at.

        Args:
            token: as it was presented.
            public: `kid` to the public half of a key whose signatures hold; None for any other.

        Raises:
            RequestError: `credentials_invalid`, for anything else.
        """
        ...

    def key_id(self, token: str) -> str:
        """Return the `kid` that a token names, unchecked; empty where it names none."""
        ...


class Attestations(Protocol):
    """Detached signatures of others over evidence."""

    def key_of(self, text: str) -> tuple[str, str]:
        """Return key id and public half (base64url) of an Ed25519 key in PEM, as JWK, or base64url itself.

        Raises:
            RequestError: `issuer_invalid`.
        """
        ...

    def verified(self, jws: str, content: bytes, public: Callable[[str], str | None]) -> Attestation:
        """Return what a detached JWS over `content` says.

        Args:
            jws: as it was presented.
            content: the bytes that it was made over.
            public: `kid` to the public half of an issuer whose word counts; None for any other.

        Raises:
            RequestError: `attestation_invalid`, for anything else.
        """
        ...


class Verifiers(Protocol):
    """Keyed hashes of secrets, so that the database alone gives no credential away."""

    def verifier(self, secret: str) -> str:
        """Return the lower-case hex HMAC-SHA-256 of `secret` under the pepper."""
        ...

    def matches(self, secret: str, verifier: str) -> bool:
        """Compare in constant time."""
        ...

    def check(self) -> None:
        """Look whether the next start would find the same key.

        Raises:
            ConfigError: `key_file_missing`, `key_file_unsafe`, `key_file_unreadable`.
        """
        ...


class Switch(Protocol):
    """Something that an operator turns on by hand."""

    @property
    def on(self) -> bool:
        """Whether it is on, as of less than a second ago; where that cannot be told, it is."""
        ...

    def look(self) -> Mapping[str, bool]:
        """Return where it is on now: a place that several processes may share, or, named "", this process alone."""
        ...

    def turn(self, *, on: bool) -> None:
        """Turn it on or off, for every process that shares its place.

        Raises:
            ConfigError: `kill_switch_unwritable`; turned on it is on in this process alone, turned off it stays on.
        """
        ...


class Disk(Protocol):
    """Where the database grows."""

    def free_bytes(self) -> int | None:
        """Return how many bytes are free there; None where that is not ours to know."""
        ...


class PolicySource(Protocol):
    """Where policy files come from."""

    def read(self) -> Mapping[str, bytes]:
        """Return relative path to content of every `*.cedar` file and the schema.

        Raises:
            PolicyError: `policy_unreadable`.
        """
        ...
