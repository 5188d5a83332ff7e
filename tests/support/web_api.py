"""A site whose services answer from a script and write down what they were asked, and a client of its routes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, NoReturn

import httpx

from negotiator.errors import RequestError
from negotiator.messages import Catalog
from negotiator.model.actions import AGENT_ACTIONS
from negotiator.model.facts import ResourceFacts
from negotiator.model.findings import Finding, Severity
from negotiator.model.governed import Declared, Presented, Refusal
from negotiator.model.levels import Level
from negotiator.model.records import SiteCredential
from negotiator.model.routes import RouteRule
from negotiator.shipped import load_catalog
from negotiator.web.api import Condition, create_api

PREFIX = "/uaix/v1"
NEGOTIATION_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
PROPOSAL_ID = "01890a5d-ac96-774b-bcce-b302099a8058"
CONSENT_ID = "01890a5d-ac96-774b-bcce-b302099a805a"
APPROVAL_ID = "01890a5d-ac96-774b-bcce-b302099a805b"
CONSENT = {
    "id": CONSENT_ID,
    "status": "pending",
    "match_code": "K7QD-3M2X",
    "expires_at": "2030-01-01T00:00:00Z",
    "scope": "exact",
}
DECISION_ID = "01890a5d-ac96-774b-bcce-b302099a8059"
API_TOKEN = f"uaixt_{'0' * 32}_{'s' * 43}abcdef"
OPERATOR_TOKEN = "o" * 32
NEGOTIATION_TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiIxIn0.c2lnbmF0dXJl"
HOSTILE = "\"><script>alert('x')</script>\u202e"

BODY: dict[str, Any] = {
    "negotiation_id": NEGOTIATION_ID,
    "declared_level": "L1",
    "effective_level": "L1",
    "level_obligations": [],
    "identity": {"kind": "anonymous", "subject": f"anon:{NEGOTIATION_ID}", "verified": False},
    "bundle_digest": "ab" * 32,
    "expires_at": "2030-01-01T00:00:00Z",
    "token": NEGOTIATION_TOKEN,
    "mode": "enforce",
    "actions": {},
    "findings": [],
    "consent": {"request_url": "", "scopes": []},
    "requires": {},
    "fallback_behavior": "read the page",
    "safe_default_response": "stop",
    "support_boundary": "no certification",
    "decision_id": DECISION_ID,
    "ledger": {"index": 0, "leaf_hash": "cd" * 32},
}
MESSAGE: dict[str, Any] = {
    "uai_version": "1.0",
    "profile": "uai.capability.negotiation.v1",
    "message_id": NEGOTIATION_ID,
    "body": BODY,
}
CREATED = Declared(kind="created", decision_id=DECISION_ID, message=MESSAGE, level=Level.L1)
EXISTING = Declared(kind="existing", decision_id=DECISION_ID, message=MESSAGE, level=Level.L1)
FINDING = Finding(
    code="capability_level_overclaim",
    severity=Severity.ERROR,
    pointer="/body/can_call_tools",
    message="L1 does not call tools",
    remedy="declare L3",
    source="policy:declare.tools",
)


def refused(code: str, *findings: Finding) -> Declared:
    refusal = Refusal(
        code=code,
        detail="not so",
        decision_id=DECISION_ID,
        findings=findings,
        fallback="read the page",
        safe_default="stop",
        next_action="mend it",
    )
    return Declared(kind="refused", decision_id=DECISION_ID, refusal=refusal)


@dataclass
class ScriptedNegotiations:
    """Gives `outcome` to declarations; the one negotiation is `NEGOTIATION_ID`'s, for whoever presents anything."""

    outcome: Declared | Exception = CREATED
    report: Mapping[str, Any] | Exception = field(default_factory=lambda: {"valid": True, "findings": []})
    asked: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)

    async def create(self, data: bytes, presented: Presented, *, strict: bool, source: str) -> Declared:
        self.asked.append({"data": data, "presented": presented, "strict": strict, "source": source})
        return _given(self.outcome)

    async def refuse(self, error: RequestError, *, source: str) -> Declared:
        self.refused.append({"code": error.code, "source": source})
        refusal = Refusal(code=error.code, detail=error.message, decision_id=DECISION_ID)
        return Declared(kind="refused", decision_id=DECISION_ID, refusal=refusal)

    async def get(self, negotiation_id: str, presented: Presented) -> Mapping[str, Any]:
        self._find(negotiation_id, presented)
        return {**MESSAGE, "body": {name: member for name, member in BODY.items() if name != "token"}}

    async def end(self, negotiation_id: str, presented: Presented) -> None:
        self._find(negotiation_id, presented)

    async def me(self, presented: Presented) -> Mapping[str, Any]:
        if not (presented.credential or presented.negotiation):
            _fail("declaration_required")
        return {"identity": {"kind": "api_token"}, "negotiations": [], "scopes": ["project:default"]}

    def validate(self, data: bytes, *, strict: bool, profile: str) -> Mapping[str, Any]:
        self.asked.append({"data": data, "strict": strict, "profile": profile})
        return _given(self.report)

    def _find(self, negotiation_id: str, presented: Presented) -> None:
        self.asked.append({"id": negotiation_id, "presented": presented})
        if negotiation_id != NEGOTIATION_ID or not presented.negotiation:
            _fail("not_found")


class ScriptedProposals:
    """Has the one proposal `PROPOSAL_ID`, for whoever presents a credential."""

    async def get(self, proposal_id: str, presented: Presented) -> Mapping[str, Any]:
        if proposal_id != PROPOSAL_ID or not presented.credential:
            _fail("not_found")
        return {"proposal_id": proposal_id, "state": "pending"}


class ScriptedSettlements:
    """Has the one effect `DECISION_ID`, for whoever presents a credential; takes the site's word of it."""

    async def get(self, effect_id: str, presented: Presented) -> Mapping[str, Any]:
        if effect_id != DECISION_ID or not presented.credential:
            _fail("not_found")
        return {"effect_id": effect_id, "state": "running"}

    async def authorise(self, presented: Presented) -> SiteCredential:
        if not presented.credential.startswith("uaixs_"):
            _fail("credentials_invalid")
        return SiteCredential(credential_id="s1", name="worker", verifier="", created_at=datetime.now(UTC))

    async def settle(self, effect_id: str, data: bytes, credential: SiteCredential) -> Mapping[str, Any]:
        if effect_id != DECISION_ID:
            _fail("not_found")
        return {
            "effect_id": effect_id,
            "state": "settled",
            "by": credential.name,
            "settled": json.loads(data)["outcome"],
        }


class ScriptedConsents:
    """Has the one request `CONSENT_ID` and the approval `APPROVAL_ID`, for whoever presents a credential."""

    asked: ClassVar[list[dict[str, Any]]] = []

    async def ask(self, data: bytes, presented: Presented, *, authority: str) -> Any:
        if not presented.credential:
            _fail("declaration_required")
        self.asked.append({"data": data, "authority": authority})
        return SimpleNamespace(document=CONSENT, replayed=b"again" in data)

    async def get(self, request_id: str, presented: Presented, *, wait_seconds: int = 0) -> Mapping[str, Any]:
        self._find(request_id, CONSENT_ID, presented)
        self.asked.append({"wait_seconds": wait_seconds})
        return CONSENT

    async def cancel(self, request_id: str, presented: Presented) -> Mapping[str, Any]:
        self._find(request_id, CONSENT_ID, presented)
        return {**CONSENT, "status": "cancelled"}

    async def give_back(self, approval_id: str, presented: Presented) -> None:
        self._find(approval_id, APPROVAL_ID, presented)

    async def receipt(self, approval_id: str, presented: Presented) -> Mapping[str, Any]:
        self._find(approval_id, APPROVAL_ID, presented)
        return {"receipt": {}, "signature": "a.b.c"}

    def _find(self, wanted: str, known: str, presented: Presented) -> None:
        if wanted != known or not presented.credential:
            _fail("not_found")


def route(label: str, *, action: str = "read_static", name: str = "pages", **others: Any) -> RouteRule:
    methods, _, path = label.partition(" ")
    return RouteRule(
        methods=frozenset(methods.split(",")),
        path=path,
        action=action,
        resource=ResourceFacts(name=name),
        **{"undeclared": "limited", "publish": True, **others},
    )


ROUTES = (
    route("GET /pages/{slug}"),
    route("POST /comments", action="post", name="comments", undeclared="deny"),
    route("POST /hidden", action="post", name="hidden-thing", undeclared="pass", publish=False),
)


def _answers(level: Level) -> dict[str, Any]:
    """Return what the level gets: every action, but posting once there is consent, and that not below L3."""
    post: dict[str, Any] = {"status": "refused", "obligations": [], "policies": ["ladder.post"]}
    if level >= Level.L3:
        wanted = {"id": "consent", "title": "a human's consent", "remedy": "ask", "policies": ["consent.write"]}
        post = {"status": "conditional", "obligations": [wanted], "policies": ["consent.write"]}
    allowed = {"status": "allowed", "obligations": [], "policies": ["ladder.read"]}
    hidden = {"resources": {"hidden-thing": post}}
    return {action: {**post, **hidden} if action == "post" else allowed for action in AGENT_ACTIONS}


@dataclass
class ScriptedSite:
    """Everything that the routes need, as plain values."""

    prefix: str = PREFIX
    public_url: str | None = None
    routes: Sequence[RouteRule] = ROUTES
    catalog: Catalog = field(default_factory=load_catalog)
    bundle_digest: str = "ab" * 32
    public_keys: Mapping[str, Any] = field(default_factory=lambda: {"keys": [{"kty": "OKP", "kid": "k1", "x": "AA"}]})
    mode: Literal["enforce"] = "enforce"
    support_boundary: str = "No certification, no endorsement."
    negotiations: ScriptedNegotiations = field(default_factory=ScriptedNegotiations)
    proposals: ScriptedProposals = field(default_factory=ScriptedProposals)
    settlements: ScriptedSettlements = field(default_factory=ScriptedSettlements)
    consents: ScriptedConsents = field(default_factory=ScriptedConsents)
    max_message_bytes: int = 1000
    root_aliases: bool = False
    policy_count: int = 3
    wrong: Sequence[Condition] = ()
    access: Mapping[Level, Mapping[str, Any]] = field(default_factory=lambda: {lv: _answers(lv) for lv in Level})

    def ticket_url(self, request_id: str) -> str:
        return f"/consents/{request_id}"

    async def refresh(self) -> None:
        return None

    async def conditions(self) -> Sequence[Condition]:
        return self.wrong

    def is_operator_token(self, token: str) -> bool:
        return token == OPERATOR_TOKEN

    async def metrics(self) -> bytes:
        return b"negotiator_effects_open 0.0\n"


def client_of(site: ScriptedSite, *, root_path: str = "", client: str = "127.0.0.1") -> httpx.AsyncClient:
    """Return a client of the site's own routes; faults of ours are answers, as behind a server."""
    transport = httpx.ASGITransport(
        create_api(site), raise_app_exceptions=False, root_path=root_path, client=(client, 1234)
    )
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


def _fail(code: str) -> NoReturn:
    message = "as the script says"
    raise RequestError(message, code=code)


def _given(scripted: Any) -> Any:
    if isinstance(scripted, Exception):
        raise scripted
    return scripted
