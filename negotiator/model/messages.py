"""UAI-1 messages as values. What their bytes look like is `messages/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from negotiator.model.facts import DeclaredFacts
from negotiator.model.findings import Finding
from negotiator.model.levels import Level

__all__ = ["Declaration", "Encoding", "Message"]

Encoding = Literal["keyed", "minified", "keyless"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A decoded message.

    Attributes:
        profile: its profile id; a known one.
        keyed: the whole message in keyed form; treat as read-only.
        encoding: the encoding it arrived in.
        digest: lower-case hex SHA-256, the same for all three encodings.
    """

    profile: str
    keyed: Mapping[str, Any]
    encoding: Encoding
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A capability message, reduced to what policies may read.

    Attributes:
        message: the message itself.
        level: the declared level.
        client_name: what the client calls itself; a quote, never trusted.
        abilities: the ten flags; absent in the message means False here.
        facts: what the scan found.
        has_idempotency_key, has_correlation, has_expiry, is_expired: the message's own delivery facts.
        pointers: fact to the place in the message that decided it, where there is one.
        notes: findings that need no policy: unknown body keys, unknown consent words.
        fallback, safe_default: the client's own `fallback_behavior` and `safe_default_response`.
    """

    message: Message
    level: Level
    client_name: str
    abilities: Mapping[str, bool]
    facts: DeclaredFacts
    has_idempotency_key: bool
    has_correlation: bool
    has_expiry: bool
    is_expired: bool
    pointers: Mapping[str, str]
    notes: tuple[Finding, ...]
    fallback: str
    safe_default: str
