"""Facts: the typed values that Cedar decides on.

Rules:

- Python computes facts and nothing else; what they mean is written in `policies/`.
- Every fact is one of `str`, `bool`, `int`, `frozenset[str]`, or a tag (a `str`); caller JSON never becomes one.
- A fact that was not computed has its zero value (`False`, `0`, `""`, empty): absent never means true. The few facts
  whose default is another value are never left out where facts are written down (`nonzero`).
- `FACTS` says of each fact who computes it and which obligation may change it; the policy reference is generated
  from it, and a test holds it, these classes and `policies/schema.cedarschema` together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from negotiator.model.levels import ABILITIES, DEFAULT_ANONYMOUS_CAP, DEFAULT_IDENTIFIED_CAP

__all__ = [
    "ANONYMOUS",
    "FACTS",
    "AgentFacts",
    "DeclaredFacts",
    "Fact",
    "HumanFacts",
    "IdentityKind",
    "RequestFacts",
    "ResourceFacts",
    "nonzero",
]

IdentityKind = Literal["anonymous", "api_token", "oauth", "signature", "mtls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """The principal of an agent's request: who it is, and what its declaration claims."""

    entity_type: ClassVar[Literal["Agent"]] = "Agent"

    subject: str
    kind: IdentityKind = "anonymous"
    verified: bool = False
    max_level: int = int(DEFAULT_ANONYMOUS_CAP)
    declared_level: int = 0
    can_fetch_static: bool = False
    can_fetch_json: bool = False
    can_execute_javascript: bool = False
    can_use_browser_ui: bool = False
    can_post_data: bool = False
    can_authenticate: bool = False
    can_call_tools: bool = False
    can_run_long_tasks: bool = False
    can_store_memory: bool = False
    can_coordinate_agents: bool = False
    operated_by: str = ""

    def identified(self) -> AgentFacts:
        """Return the same agent as if it had a verified credential: what the obligation `identity` would give."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        cap = max(self.max_level, int(DEFAULT_IDENTIFIED_CAP))
        return AgentFacts(**known | {"kind": "api_token", "verified": True, "max_level": cap})


ANONYMOUS = AgentFacts(subject="anonymous")
"""A caller that presented nothing: L0, unverified, without any ability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanFacts:
    """The principal of what a person does.

    Attributes:
        person: the person's id, which is the entity's id, too.
        assurance: 1 session, 2 password, 3 second factor, 4 security key, as of now.
        roles: held in this project; each is a parent of the entity.
    """

    entity_type: ClassVar[Literal["Human"]] = "Human"

    person: str
    assurance: int = 1
    roles: frozenset[str] = frozenset()

    @property
    def subject(self) -> str:
        """What decisions and records name the person by."""
        return self.person


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFacts:
    """What an action is upon. `type` is the Cedar entity type without its namespace; a `Project` has only its name."""

    type: Literal["Resource", "Tool", "MemoryRecord", "Project"] = "Resource"
    name: str = "-"
    kind: str = ""
    public: bool = False
    two_person: bool = False
    protected: bool = False
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFacts:
    """What the scan of a declaration found. Stored with the negotiation; later requests keep these values.

    An undeclared caller has the zero value of each.
    """

    profile_matches: bool = False
    proposal_profile_declared: bool = False
    unknown_ability: bool = False
    consent_boundary: bool = False
    consents_write: bool = False
    consents_authorization: bool = False
    consents_memory: bool = False
    consents_public_publishing: bool = False
    consents_coordination: bool = False
    declared_evidence: frozenset[str] = frozenset()
    evidence_declared: bool = False
    has_provenance: bool = False
    has_integrity: bool = False
    high_trust: bool = False
    fallback_named: bool = False
    js_only: bool = False
    rollback_named: bool = False
    has_timeout: bool = False
    claims_runtime: bool = False
    claims_certification: bool = False
    has_unsafe_credential: bool = False
    boundary_unclear: bool = False

    def declared(self) -> dict[str, Any]:
        """Return the declaration's facts by name, without the request's own: what later requests take over."""
        return dict(zip(_DECLARED, _declared_values(self), strict=True))


_DECLARED = tuple(f.name for f in fields(DeclaredFacts))
_declared_values = attrgetter(*_DECLARED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts(DeclaredFacts):
    """The `Request` entity of one decision: the declaration's facts and the request's own.

    `has_idempotency_key has_correlation has_expiry is_expired` describe the posted message in `declare` and
    `advise`, and the request's own headers everywhere else.
    """

    method: str = ""
    route: str = ""
    has_consent: bool = False
    has_idempotency_key: bool = False
    has_correlation: bool = False
    has_expiry: bool = False
    is_expired: bool = False
    via_proposal: bool = False
    reviews: int = 0
    strict: bool = False
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row of the policy reference.

    Attributes:
        on: the Cedar entity that carries it.
        name: the attribute's name (a tag's name ends in `<…>`).
        cedar_type: its type in the schema.
        source: who computes it.
        obligation: the obligation that may make it true; empty where nothing that a caller does can.
    """

    on: Literal["Agent", "Human", "Level", "Resource", "Request"]
    name: str
    cedar_type: str
    source: str
    obligation: str = ""


_DECLARATION = "the scan of the declaration; on later requests the negotiation's value, false for undeclared callers"
_HEADERS = "the request's headers; in `declare` and `advise` the posted message"
_ROUTE = "the route rule in the configuration"
_STORE = "the store"


def _request(name: str, cedar_type: str, source: str, obligation: str = "") -> Fact:
    return Fact(on="Request", name=name, cedar_type=cedar_type, source=source, obligation=obligation)


FACTS: tuple[Fact, ...] = (
    Fact(on="Level", name="number", cedar_type="Long", source="the ladder"),
    Fact(on="Agent", name="kind", cedar_type="String", source="the credential", obligation="identity"),
    Fact(on="Agent", name="subject", cedar_type="String", source="the credential"),
    Fact(on="Agent", name="verified", cedar_type="Bool", source="the credential", obligation="identity"),
    Fact(on="Agent", name="max_level", cedar_type="Long", source="the operator", obligation="identity"),
    Fact(on="Agent", name="declared_level", cedar_type="Long", source=_DECLARATION),
    *(Fact(on="Agent", name=ability, cedar_type="Bool", source=_DECLARATION) for ability in ABILITIES),
    Fact(on="Agent", name="operated_by", cedar_type="String", source="the operator"),
    Fact(on="Human", name="person", cedar_type="String", source="the account, or the site's own sign-in"),
    Fact(on="Human", name="assurance", cedar_type="Long", source="what the person proved in the last five minutes"),
    Fact(on="Resource", name="name", cedar_type="String", source=_ROUTE),
    Fact(on="Resource", name="kind", cedar_type="String", source=_ROUTE),
    Fact(on="Resource", name="public", cedar_type="Bool", source=_ROUTE),
    Fact(on="Resource", name="two_person", cedar_type="Bool", source=_ROUTE),
    Fact(on="Resource", name="protected", cedar_type="Bool", source=_ROUTE),
    _request("method", "String", "the request's method; empty in `declare` and `advise`"),
    _request("route", "String", _ROUTE),
    _request("has_consent", "Bool", _STORE, "consent"),
    _request("has_idempotency_key", "Bool", _HEADERS, "idempotency_key"),
    _request("has_correlation", "Bool", _HEADERS, "correlation"),
    _request("has_expiry", "Bool", _HEADERS, "expiry"),
    _request("is_expired", "Bool", _HEADERS, "unexpired"),
    _request("via_proposal", "Bool", _ROUTE, "memory_proposal"),
    _request("reviews", "Long", _STORE, "review"),
    _request("strict", "Bool", "the endpoint's option `strict`; false outside `declare` and `advise`"),
    *(
        _request(f.name, "Set<String>" if f.name == "declared_evidence" else "Bool", _DECLARATION)
        for f in fields(DeclaredFacts)
    ),
    _request("tag evidence:<kind>", "String", "the store: the origin of the evidence named", "evidence:<kind>"),
    _request("tag arg:<name>", "String", "an argument that the route rule names"),
    _request("tag claim:<name>", "String", "a claim of the credential that the configuration names"),
)


def nonzero(facts: AgentFacts | HumanFacts | ResourceFacts | RequestFacts) -> dict[str, Any]:
    """Return the facts that are not their type's zero, sets as sorted lists: the form of a ledger entry.

    Invariant: nothing is lost. A fact that is left out has its zero value, and its class gives it that by default;
    facts with another default (`kind`, `max_level`, `assurance`, a resource's `type` and `name`) always stand there.
    """
    names, values_of = _WRITTEN[type(facts)]
    return {
        name: value if type(value) in _SCALARS else _plain(value)
        for (name, always), value in zip(names, values_of(facts), strict=True)
        if value or always
    }


def _is_always_written(fact: Field[Any]) -> bool:
    return fact.default_factory is MISSING and bool(fact.default)


_SCALARS = frozenset({str, bool, int})
_WRITTEN: Mapping[type, tuple[tuple[tuple[str, bool], ...], Callable[[Any], tuple[Any, ...]]]] = {
    kind: (
        tuple((f.name, _is_always_written(f)) for f in fields(kind)),
        attrgetter(*(f.name for f in fields(kind))),
    )
    for kind in (AgentFacts, HumanFacts, ResourceFacts, RequestFacts)
}


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(sorted(value.items()))
    return value
