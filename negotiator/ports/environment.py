"""Time, ids, keys and policy files, so that services are functions of what they are given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

__all__ = ["Clock", "Ids", "PolicySource", "Signer", "Switch", "Verifiers"]


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
    """Negotiation tokens: JWS with EdDSA, type `uaix-negotiation+jwt` (RFC 7515, RFC 8037)."""

    @property
    def key_id(self) -> str:
        """The `kid` of the key that signs now."""
        ...

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return the compact JWS of `claims`; the same claims give the same bytes."""
        ...

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that one of our keys signed; `exp` is not looked at.

        Raises:
            RequestError: `credentials_invalid`, for anything else.
        """
        ...

    def public_keys(self) -> Mapping[str, Any]:
        """Return the JWKS document of the public halves (RFC 7517)."""
        ...


class Verifiers(Protocol):
    """Keyed hashes of secrets, so that the database alone gives no credential away."""

    def verifier(self, secret: str) -> str:
        """Return the lower-case hex HMAC-SHA-256 of `secret` under the pepper."""
        ...

    def matches(self, secret: str, verifier: str) -> bool:
        """Compare in constant time."""
        ...


class Switch(Protocol):
    """Something that an operator turns on by hand."""

    @property
    def on(self) -> bool:
        """Whether it is on; where that cannot be told, it is."""
        ...


class PolicySource(Protocol):
    """Where policy files come from."""

    def read(self) -> Mapping[str, bytes]:
        """Return relative path to content of every `*.cedar` file and the schema.

        Raises:
            PolicyError: `policy_unreadable`.
        """
        ...
