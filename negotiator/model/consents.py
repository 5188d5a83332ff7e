"""Consent: what an agent asks for, what a person gave, and what both are bound to.

Rules:

- A request moves along `TRANSITIONS` and no other way; it moves once.
- An approval is bound to the SHA-256 of RFC 8785 of `{binds, values}`. Principal, action and resource are always among
  the binds; `exact` binds everything.
- A person may only narrow: more binds, fewer uses, an earlier end.

Source: interface section 5; SEC-12.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from negotiator.canonical import digest
from negotiator.errors import RequestError

__all__ = [
    "ALWAYS_BOUND",
    "BINDS",
    "BINDS_OF_SCOPE",
    "SCOPES",
    "TRANSITIONS",
    "AccessRequest",
    "Approval",
    "ApprovalUse",
    "Binding",
    "BoundValue",
    "ConsentRequest",
    "ConsentState",
    "Narrowing",
    "Scope",
    "approval_fault",
    "differing",
    "match_code",
    "narrowed",
]

Scope: TypeAlias = Literal["exact", "template", "resource"]
BoundValue: TypeAlias = "str | Mapping[str, str]"

BINDS: Final = (
    "principal",
    "actor",
    "action",
    "resource",
    "authority",
    "method",
    "target",
    "content_type",
    "content_encoding",
    "body",
    "site_account",
    "bound_headers",
)
"""Everything that an approval can be bound to, in the order in which it is listed."""

ALWAYS_BOUND: Final = frozenset({"principal", "action", "resource"})
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""Narrow before wide."""

BINDS_OF_SCOPE: Final[Mapping[Scope, tuple[str, ...]]] = MappingProxyType(
    {
        "exact": BINDS,
        "template": tuple(name for name in BINDS if name != "body"),
        "resource": tuple(name for name in BINDS if name not in {"body", "target"}),
    }
)


class ConsentState(StrEnum):
    """Where a consent request stands."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FAILED = "failed"


TRANSITIONS: Final[Mapping[ConsentState, frozenset[ConsentState]]] = MappingProxyType(
    {
        ConsentState.PENDING: frozenset(ConsentState) - {ConsentState.PENDING},
        **{state: frozenset() for state in ConsentState if state is not ConsentState.PENDING},
    }
)
"""State to the states that may follow it. `failed`: what was asked for can no longer be done at all."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The values of one request by bind. A value that is not known (a body that flows) is not there."""

    values: Mapping[str, BoundValue]

    def digest(self, binds: Iterable[str]) -> str:
        """Return the digest over `binds`; empty, which equals no digest, where one of their values is not known."""
        wanted = frozenset(binds)
        names = [name for name in BINDS if name in wanted]
        if any(name not in self.values for name in names):
            return ""
        return digest({"binds": names, "values": {name: self.values[name] for name in names}})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRequest:
    """What an agent asks a person for.

    Attributes:
        subject, agent_id, negotiation_id: who asks.
        uses: how often it asks to do it; the person gives one use unless they say otherwise.
        values: of its `Binding`.
        digest: of the binding over the binds of `scope`.
        body: the bytes to show; empty where none were given or they are too large to be shown.
        body_bytes: the body's length; -1 where only a digest was given.
        not_after: the agent's own latest end of an approval.
        match_code: stands on both sides, so that the person decides on the request that they were told of.
        ended_by: who ended it: a person's id, the agent's subject, the host's user, or nobody (expiry).
        approval_id: what came of it; empty unless approved.
    """

    request_id: str
    subject: str
    agent_id: str
    negotiation_id: str
    action: str
    resource_type: str
    resource: str
    scope: Scope
    uses: int
    values: Mapping[str, BoundValue]
    digest: str
    body: bytes
    body_bytes: int
    reason: str
    correlation_id: str
    match_code: str
    state: ConsentState
    created_at: datetime
    expires_at: datetime
    not_after: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str = ""
    approval_id: str = ""

    def state_at(self, now: datetime) -> ConsentState:
        """Return its state; one whose time is over is expired before the sweep has said so."""
        over = self.state is ConsentState.PENDING and self.expires_at <= now
        return ConsentState.EXPIRED if over else self.state

    @property
    def binding(self) -> Binding:
        """What it is bound to."""
        return Binding(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What a person gave.

    Attributes:
        binds: what `digest` is over, and `values` the values of just those.
        approver, approver_name, roles, assurance: the person, as they were when they decided.
        bundle_digest: the policies that let them.
        display_digest: of what they were shown.
        epoch: of the ledger; an approval of an earlier one is void.
    """

    approval_id: str
    request_id: str
    subject: str
    action: str
    resource_type: str
    resource: str
    scope: Scope
    binds: Sequence[str]
    values: Mapping[str, BoundValue]
    digest: str
    approver: str
    approver_name: str
    roles: Sequence[str]
    assurance: int
    uses: int
    uses_left: int
    bundle_digest: str
    display_digest: str
    epoch: int
    granted_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    revoked_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalUse:
    """One use: the decision that spent it."""

    approval_id: str
    decision_id: str
    used_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    """What a refused agent is told of a consent request: the one that waits, or where to ask (no `request_id`)."""

    request_id: str = ""
    status: str = ""
    match_code: str = ""
    expires_at: datetime | None = None
    approval_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a person gives instead of what was asked for; an empty one gives it as asked, once."""

    scope: Scope | None = None
    uses: int | None = None
    expires_at: datetime | None = None


def narrowed(request: ConsentRequest, narrowing: Narrowing, *, latest: datetime) -> tuple[Scope, int, datetime]:
    """Return scope, uses and end of the approval.

    Args:
        request: what was asked for.
        narrowing: what the person chose.
        latest: the latest end that the site gives.

    Raises:
        RequestError: `narrowing_refused`, for anything wider than what was asked for, or a body that nobody knows.
    """
    scope = narrowing.scope or request.scope
    uses = 1 if narrowing.uses is None else narrowing.uses
    last = min(filter(None, (latest, request.not_after)))
    if SCOPES.index(scope) > SCOPES.index(request.scope) or not 1 <= uses <= request.uses:
        _refuse("an approval may be narrower than what was asked for, never wider")
    if not request.binding.digest(BINDS_OF_SCOPE[scope]):
        _refuse("the request names no body, so its exact bytes cannot be approved; keep the wider scope or deny")
    return scope, uses, min(filter(None, (last, narrowing.expires_at)))


def _refuse(message: str) -> None:
    raise RequestError(message, code="narrowing_refused")


def approval_fault(approval: Approval, binding: Binding, now: datetime) -> str:
    """Return the code that says why `approval` does not cover `binding` at `now`; empty where it does."""
    if approval.revoked_at is not None:
        code = "consent_revoked"
    elif approval.uses_left < 1:
        code = "consent_spent"
    elif approval.expires_at <= now:
        code = "consent_expired"
    elif binding.digest(approval.binds) != approval.digest:
        code = "consent_mismatch"
    else:
        code = ""
    return code


def differing(approval: Approval, binding: Binding) -> tuple[str, ...]:
    """Return the binds whose values are not the approved ones."""
    return tuple(name for name in approval.binds if binding.values.get(name) != approval.values.get(name))


_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


def match_code(request_id: str, digest_of_binding: str) -> str:
    """Return eight letters and digits that none is taken for another, e.g. `K7QD-3M2X`."""
    number = int.from_bytes(hashlib.sha256(f"{request_id}:{digest_of_binding}".encode()).digest())
    letters = ""
    for _ in range(8):
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return f"{letters[:4]}-{letters[4:]}"
