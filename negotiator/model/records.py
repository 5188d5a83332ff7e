"""What the store keeps beside the ledger, as values. Times are aware UTC `datetime`s with microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Any, Literal

from negotiator.model.facts import AgentFacts, DeclaredFacts, IdentityKind
from negotiator.model.levels import Level

__all__ = [
    "Agent",
    "Closing",
    "Credential",
    "Identity",
    "Intent",
    "KeySlot",
    "KeyUse",
    "Negotiation",
    "OutcomeEnd",
    "Principal",
    "Proposal",
    "ProposalState",
    "Settled",
    "SiteAnswer",
    "SiteCredential",
    "StoredAnswer",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that an operator registered."""

    agent_id: str
    name: str
    max_level: Level
    operated_by: str
    created_at: datetime
    revoked_at: datetime | None = None

    @property
    def subject(self) -> str:
        """What its decisions and records name it by."""
        return f"agent:{self.agent_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One API token of an agent; only a keyed hash of its secret is kept."""

    credential_id: str
    agent_id: str
    verifier: str
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteCredential:
    """A token with which the site itself settles effects; only a keyed hash of its secret is kept."""

    credential_id: str
    name: str
    verifier: str
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a request comes from, after its credential was checked.

    Attributes:
        subject: `agent:<agent id>`, or `anon:<first negotiation id>`; `anonymous` before any negotiation.
        credential_id: empty for anonymous callers.
        max_level: the cap that the decision was made with; a claim of the unit that records it.
    """

    kind: IdentityKind
    subject: str
    verified: bool
    max_level: Level
    credential_id: str = ""
    agent_id: str = ""
    operated_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whom an entry tells of: the type and id of a Cedar principal."""

    type: Literal["Agent", "Human"]
    id: str

    def as_json(self) -> dict[str, str]:
        """Return the entry's member `principal`."""
        return {"type": self.type, "id": self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiation:
    """A stored answer to a declaration.

    Attributes:
        digest: of the declaration; with the credential it finds an identical one again.
        principal: the agent's facts as they were declared.
        declared: the facts of the declaration.
        body: the answer without `token`; the token is made again from these values.
        key_id: the key that signed the token.
    """

    negotiation_id: str
    subject: str
    identity_kind: IdentityKind
    credential_id: str
    digest: str
    strict: bool
    declared_level: Level
    effective_level: Level
    principal: AgentFacts
    declared: DeclaredFacts
    body: Mapping[str, Any]
    bundle_digest: str
    key_id: str
    issued_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None


class OutcomeEnd(StrEnum):
    """How an effect ended."""

    COMPLETE = "complete"
    CLIENT_GONE = "client_gone"
    SITE_ERROR = "site_error"
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"


class Settled(StrEnum):
    """What somebody who knows has said of an effect of which nobody here did."""

    DONE = "done"
    NOT_DONE = "not_done"


class Closing(Enum):
    """What recording an outcome did.

    Attributes:
        FIRST: the effect was open.
        LATE: a sweep had called it interrupted; now it has its true end.
        CONTRADICTED: it was interrupted and then settled; now it has its true end, and its key is left alone.
        NONE: it has an outcome already, or there never was such an effect.
    """

    FIRST = auto()
    LATE = auto()
    CONTRADICTED = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """An effect that was allowed, until its outcome is known and after.

    Attributes:
        owner: the process that waits for the outcome.
        lease_seq: raised by that process while it waits.
        principal_type, subject: type and id of the principal, as its entry has them.
        settled: what was said of it afterwards; `not_done` also where we know that the site was not called.
    """

    decision_id: str
    owner: str
    lease_seq: int
    principal_type: Literal["Agent", "Human"]
    subject: str
    action: str
    opened_at: datetime
    ended_at: datetime | None = None
    end: OutcomeEnd | None = None
    settled: Settled | None = None

    @property
    def state(self) -> Literal["running", "ended", "outcome_unknown", "settled"]:
        """Where it stands, in one word."""
        if self.ended_at is None:
            return "running"
        if self.end is not OutcomeEnd.INTERRUPTED:
            return "ended"
        return "outcome_unknown" if self.settled is None else "settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteAnswer:
    """What is kept of an answer of the site.

    Attributes:
        headers: lower-case name and value of the lines that may be kept, in their order.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer(SiteAnswer):
    """The answer to the effect `decision_id`, for whoever asks again with its key."""

    decision_id: str
    stored_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySlot:
    """Where an idempotency key belongs: the same key elsewhere is another slot. `key_sha256` is of the key's text."""

    subject: str
    method: str
    route: str
    key_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse(KeySlot):
    """An idempotency key that was taken: at most one effect stands behind it.

    Attributes:
        fingerprint: digest of what the key was sent with; another one is a mismatch.
        proposal_id: the proposal that it filed; empty for an effect at the site.
        consumed: the facts that it has used up, such as a consent; a repetition takes them as met.
    """

    fingerprint: str
    decision_id: str
    proposal_id: str
    used_at: datetime
    consumed: tuple[str, ...] = ()


class ProposalState(StrEnum):
    """Where a memory proposal stands; the machine that moves it is part of the memory room."""

    PENDING = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A memory write that waits for a human.

    Attributes:
        held: the request as it would have reached the site: `method`, `target`, `content_type`; never
            credentials or forwarding headers.
        body: its exact bytes.
    """

    proposal_id: str
    decision_id: str
    subject: str
    resource: str
    state: ProposalState
    held: Mapping[str, str]
    body: bytes
    body_sha256: str
    created_at: datetime
