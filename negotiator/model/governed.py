"""What the enforcement point hands to the services, and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from negotiator.canonical import sha256_hex
from negotiator.model.consents import AccessRequest
from negotiator.model.findings import Finding
from negotiator.model.levels import Level
from negotiator.model.obligations import Obligation
from negotiator.model.records import OutcomeEnd, Principal, SiteAnswer, StoredAnswer
from negotiator.model.routes import CacheRule, Mode, RouteRule

__all__ = [
    "CallerClass",
    "Declared",
    "GovernedRequest",
    "Outcome",
    "Presented",
    "Refusal",
    "SocketTraffic",
    "Standing",
    "Verdict",
]

CallerClass = Literal["agent", "human", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Presented:
    """The claims that a request's headers make, syntactically well-formed and nothing more.

    Attributes:
        negotiation: the compact JWS of `UAIX-Negotiation`; empty if absent.
        credential: the API token of `UAIX-Credential` (site's routes) or `Authorization: Bearer` (ours).
        correlation: `UAIX-Correlation`.
        expires_at: `UAIX-Expires`, parsed.
        idempotency_key: `Idempotency-Key`, unquoted.
        consent, evidence: `UAIX-Consent`, `UAIX-Evidence`.
        traceparent: as it was received.
    """

    negotiation: str = ""
    credential: str = ""
    correlation: str = ""
    expires_at: datetime | None = None
    idempotency_key: str = ""
    consent: str = ""
    evidence: tuple[str, ...] = ()
    traceparent: str = ""

    @property
    def trace_id(self) -> str:
        """The 32 hex digits of the trace; empty without `traceparent`. Source: W3C Trace Context section 3.2."""
        return self.traceparent[3:35]


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernedRequest:
    """One request that a rule governs.

    Attributes:
        method: upper-case.
        target: the raw path and query, as the client sent them.
        rule: the rule that matched.
        caller_class: as `web.callers` found it.
        person: the person id that the site's `human_authenticator` vouches for; empty otherwise.
        source: the client's address, for budgets and logs; never a fact.
        body_sha256: lower-case hex; empty where the body flows (`stream_body`) or none was read.
        socket: it is the handshake of a WebSocket.
        conditions: the header lines beside `content_type` that change what is asked for, such as `range` and
            `if-match`: lower-case name and value, in order.
        authority: of the request's `Host`, in lower case.
        content_encoding: of the body; empty where it has none.
        bound_headers: values of the headers that the rule binds consents to, by lower-case name.
    """

    method: str
    target: str
    rule: RouteRule
    presented: Presented
    caller_class: CallerClass
    person: str = ""
    source: str = ""
    content_type: str = ""
    body: bytes = field(default=b"", repr=False)
    body_sha256: str = ""
    body_bytes: int = 0
    socket: bool = False
    conditions: tuple[tuple[str, str], ...] = ()
    authority: str = ""
    content_encoding: str = ""
    bound_headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> CacheRule:
        """What its answer may be kept by: never shared where it is given because a person asked."""
        passes_as_person = self.caller_class == "human" and self.rule.undeclared == "human_only"
        return "private" if passes_as_person else self.rule.cache

    @property
    def target_sha256(self) -> str:
        """Digest of the target: a query may hold what must not stand in a ledger."""
        return sha256_hex(self.target.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A no that says how to get to yes. `web/problems.py` gives it a status and a form.

    Attributes:
        code: stable problem code.
        detail: what was wrong with this request, for a person; never echoes it raw.
        next_action: the one next thing to do; empty leaves it to the code's own.
        retry_after_seconds: 0 where waiting does not help.
        effect_id: the effect that has to be settled first; empty where it is the decision itself, or none.
        access_request: where a human's consent stands, or that it can be asked for.
    """

    code: str
    detail: str
    decision_id: str = ""
    obligations: tuple[Obligation, ...] = ()
    policies: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    fallback: str = ""
    safe_default: str = ""
    next_action: str = ""
    retry_after_seconds: int = 0
    effect_id: str = ""
    access_request: AccessRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an allowed exchange stands on for as long as it is open; empty where nothing of it was presented.

    Attributes:
        max_level: the cap of the credential's agent when the decision was made.
    """

    negotiation_id: str = ""
    credential_id: str = ""
    max_level: Level = Level.L0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the enforcement point does now. It was recorded before it was returned.

    Attributes:
        kind: `proceed` calls the site; `refuse` answers `refusal`; `hold` answers 202 with `proposal_id`; `replay`
            gives `answer` again.
        decision_id: for `UAIX-Decision`.
        level: the effective level, for `UAIX-Level`; None where no agent was decided on.
        replayed: it is an earlier answer, of the same key; it says `Idempotent-Replayed`.
        answer: the stored one that is given again.
        keeps: the most bytes of the site's answer that are kept for the key; None keeps nothing.
        mode: `shadow` where a denial would not have kept the request from the site.
        intent_open: `finish` must be called with its outcome before the last byte.
        principal, action, trace_id: of the intent, for the outcome's entry.
        standing: what must still hold while the exchange is open; None where the caller presented nothing.
    """

    kind: Literal["proceed", "refuse", "hold", "replay"]
    decision_id: str
    level: Level | None = None
    mode: Mode = "enforce"
    intent_open: bool = False
    principal: Principal | None = None
    action: str = ""
    trace_id: str = ""
    standing: Standing | None = None
    refusal: Refusal | None = None
    proposal_id: str = ""
    replayed: bool = False
    answer: StoredAnswer | None = None
    keeps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketTraffic:
    """How many messages passed an open socket, seen from the site."""

    messages_in: int
    messages_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the site's answer to an effect ended.

    Attributes:
        status: the site's status; 0 where it sent no head.
        body_bytes: bytes of the answer that the site produced (0 for HEAD, 204 and 304).
        body_sha256: lower-case hex digest of those bytes; empty for a socket.
        traffic: of a socket; None for an HTTP answer.
        answer: what is kept of a whole answer; None where nothing is.
        called: False where we know that the site was never called.
    """

    end: OutcomeEnd
    status: int
    body_bytes: int
    body_sha256: str
    traffic: SocketTraffic | None = None
    answer: SiteAnswer | None = field(default=None, repr=False)
    called: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What became of a posted declaration. It was recorded before it was returned.

    Attributes:
        kind: `created` is 201; `existing` is 200, the stored answer; `refused` answers `refusal`.
        message: the keyed message `uai.capability.negotiation.v1`; empty when refused.
    """

    kind: Literal["created", "existing", "refused"]
    decision_id: str
    message: Mapping[str, Any] = field(default_factory=dict)
    level: Level | None = None
    refusal: Refusal | None = None
