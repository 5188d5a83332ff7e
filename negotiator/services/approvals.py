"""Approvals at the enforcement point: does the one that a request presents cover it, and what if not.

Rules:

- Looked at only where the policies ask for consent: an approval that nobody asks for is not spent.
- What is found is taken as true in the decision and claimed in the unit, where the use is spent with the effect: one
  conditional statement. From the commit that revokes, spends or ends it, it covers nothing.
- The digest is computed anew from the request in hand. Who approved is asked again under the policies in force.
- An approval of somebody else's looks like none.
- A write with consent is what the person read: no content coding, and JSON only as strict decoding has it.

Source: interface sections 4 (row 7) and 5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from negotiator.canonical import decode_json
from negotiator.errors import ClaimFailed, RequestError
from negotiator.model.approvers import Approver
from negotiator.model.consents import (
    BINDS_OF_SCOPE,
    SCOPES,
    AccessRequest,
    Approval,
    Binding,
    BoundValue,
    ConsentRequest,
    ConsentState,
    approval_fault,
    differing,
    match_code,
)
from negotiator.model.decisions import Decision, Query
from negotiator.model.facts import AgentFacts, ResourceFacts
from negotiator.model.governed import GovernedRequest
from negotiator.model.levels import Level
from negotiator.policy import Approving
from negotiator.ports import Clock, Ids, Store, Tx
from negotiator.services.asking import Asked, ConsentTerms, access_of, cooling, file_request
from negotiator.services.callers import Caller

__all__ = [
    "APPROVAL_HOLDS",
    "MAX_SHOWN_BODY_BYTES",
    "Approvals",
    "Consented",
    "Unconsented",
    "approving_code",
    "binding_of",
    "check_readable",
]

APPROVAL_HOLDS: Final = "approval_holds"
MAX_SHOWN_BODY_BYTES: Final = 65_536
"""Larger bodies are not kept to be shown."""

_CONSENT: Final = "consent"
_HIGHEST_ASSURANCE: Final = 4
_JSON_TYPE = re.compile(r"application/(?:json|[a-z0-9!#$&^_.-]+\+json)")
_DETAILS: Final = {
    "consent_required": "a human has to consent to this first",
    "consent_pending": "a human was asked and has not decided yet",
    "consent_denied": "a human said no to this a while ago; do not ask again yet",
    "consent_expired": "the approval's time is over",
    "consent_spent": "every use of the approval is spent",
    "consent_revoked": "the approval was taken back",
    "consent_mismatch": "the approval was given for something else",
    "assurance_too_low": "the policies now ask for a stronger sign-in of the person who approved",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Consented:
    """What a presented approval amounts to.

    Attributes:
        approval: covers the request; None where it does not, or none was presented.
        fault: the code that says why a presented one does not.
        detail: the same for a person.
    """

    approval: Approval | None = None
    fault: str = ""
    detail: str = ""

    @property
    def approval_id(self) -> str:
        """Of the approval that covers the request; empty where none does."""
        return self.approval.approval_id if self.approval else ""

    def claim(self, tx: Tx) -> None:
        """Claim, without spending it, that the approval covers the request.

        Raises:
            ClaimFailed: `approval_holds`.
        """
        approval = self.approval
        if approval is None:
            return
        if not tx.approvals.claim_holds(approval.approval_id, approval.digest, epoch=tx.epoch, at=tx.now):
            raise ClaimFailed(APPROVAL_HOLDS)

    def spend(self, tx: Tx, decision_id: str) -> None:
        """Claim the same and take a use for the effect of `decision_id`.

        Raises:
            ClaimFailed: `approval_holds`.
        """
        approval = self.approval
        if approval is None:
            return
        if not tx.approvals.spend(
            approval.approval_id, approval.digest, decision_id=decision_id, epoch=tx.epoch, at=tx.now
        ):
            raise ClaimFailed(APPROVAL_HOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconsented:
    """The answer to a request that lacks consent."""

    code: str
    detail: str
    access: AccessRequest
    retry_after_seconds: int = 0


class Approvals:
    """The approvals of one project, as requests meet them."""

    def __init__(self, *, store: Store, clock: Clock, ids: Ids, terms: ConsentTerms) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._terms = terms

    async def consented(
        self,
        request: GovernedRequest,
        caller: Caller,
        query: Query,
        decision: Decision,
        *,
        approving: Approving,
        failed: frozenset[str],
    ) -> Consented:
        """Return what the approval that `request` presents amounts to, where `decision` asks for consent.

        Args:
            request: what is asked for.
            caller: who asks.
            query: what the policies were asked, without consent.
            decision: what they answered.
            approving: asks again who may approve.
            failed: claims that a unit found not to hold.

        Raises:
            UnavailableError: the store cannot be read.
        """
        approval_id = request.presented.consent
        if not approval_id or all(each.id != _CONSENT for each in decision.obligations):
            return Consented()
        approval = await self._store.read(lambda reader: reader.approvals.get(approval_id))
        if approval is None or approval.subject != caller.identity.subject:
            return Consented(fault="consent_required", detail="there is no such approval of yours")
        binding = binding_of(request, caller)
        fault = approval_fault(approval, binding, self._clock.now())
        if not fault and APPROVAL_HOLDS in failed:
            fault = "consent_expired"
        if not fault:
            fault = _approver_fault(approval, query, approving)
        if fault:
            return Consented(fault=fault, detail=_fault_detail(fault, approval, binding))
        return Consented(approval=approval)

    def draft(self, request: GovernedRequest, caller: Caller) -> ConsentRequest:
        """Return the consent request that `request` would be; digest and values are those of the scope `exact`."""
        binding = binding_of(request, caller)
        request_id, now = self._ids.new(), self._clock.now()
        digest = binding.digest(BINDS_OF_SCOPE["exact"])
        kept = request.body if len(request.body) <= MAX_SHOWN_BODY_BYTES else b""
        return ConsentRequest(
            request_id=request_id,
            subject=caller.identity.subject,
            agent_id=caller.identity.agent_id,
            negotiation_id=caller.negotiation.negotiation_id if caller.negotiation else "",
            action=request.rule.action,
            resource_type=request.rule.resource.type,
            resource=request.rule.resource.name,
            scope="exact",
            uses=1,
            values=binding.values,
            digest=digest,
            body=kept,
            body_bytes=request.body_bytes,
            reason="",
            correlation_id=request.presented.correlation,
            match_code=match_code(request_id, digest),
            state=ConsentState.PENDING,
            created_at=now,
            expires_at=now + self._terms.lifetime,
        )

    def unconsented(self, tx: Tx, request: GovernedRequest, draft: ConsentRequest, given: Consented) -> Unconsented:
        """Return, inside the unit of the refusal, its code and where the agent's consent request stands.

        Files `draft` where the rule says so and its form can be shown. Never raises but for claims.
        """
        if not draft.agent_id:
            return _told(given, Asked(code="consent_required"), AccessRequest())
        known = tx.consents.of_digests(draft.subject, _digests(draft.binding))
        if known is not None and known.state_at(tx.now) is ConsentState.PENDING:
            return _told(given, Asked(code="consent_pending"), access_of(known, tx.now))
        if known is not None and not given.fault and _stands(tx, known):
            return _told(given, Asked(code="consent_required"), access_of(known, tx.now))
        asked = self._asked(tx, request, draft)
        access = access_of(asked.request, tx.now) if asked.request else AccessRequest()
        return _told(given, asked, access)

    def _asked(self, tx: Tx, request: GovernedRequest, draft: ConsentRequest) -> Asked:
        wait = cooling(tx.consents, draft, now=tx.now, cooldown=self._terms.cooldown)
        if wait:
            return Asked(code="consent_denied", retry_after_seconds=wait)
        if not request.rule.auto_request or not draft.digest or not _is_readable(request):
            return Asked(code="consent_required")
        own = replace(draft, created_at=tx.now, expires_at=tx.now + self._terms.lifetime)
        try:
            asked = file_request(tx, own, self._terms)
        except RequestError:  # a text that no database keeps: refused before anything was written
            return Asked(code="consent_required")
        return replace(asked, code="consent_required") if asked.code == "over_budget" else asked


def binding_of(request: GovernedRequest, caller: Caller) -> Binding:
    """Return the values that a consent to `request` is bound to."""
    rule = request.rule
    values: dict[str, BoundValue] = {
        "principal": caller.identity.subject,
        "actor": caller.identity.operated_by,
        "action": rule.action,
        "resource": f"{rule.resource.type}:{rule.resource.name}",
        "authority": request.authority,
        "method": request.method,
        "target": request.target,
        "content_type": request.content_type,
        "content_encoding": request.content_encoding,
        "site_account": request.person,
        "bound_headers": dict(request.bound_headers),
    }
    if not rule.stream_body:
        values["body"] = request.body_sha256
    return Binding(values)


def check_readable(request: GovernedRequest) -> None:
    """Refuse a write whose bytes a person and the site could read as two things.

    Raises:
        RequestError: `unsupported_media_type`; as `decode_json` does.
    """
    if request.rule.reads:
        return
    if request.content_encoding:
        message = "a write that a human consents to has no content coding; send the body as it is"
        raise RequestError(message, code="unsupported_media_type")
    essence = request.content_type.partition(";")[0].strip().lower()
    if not _JSON_TYPE.fullmatch(essence) or not request.body_bytes:
        return
    if not request.body:
        message = "JSON that a human consents to is at most 1048576 bytes long; send less"
        raise RequestError(message, code="body_too_large")
    decode_json(request.body)


def approving_code(
    approving: Approving,
    approver: Approver,
    resource: ResourceFacts,
    *,
    requester: AgentFacts,
    level: Level | None,
    action: str,
) -> tuple[str, Decision]:
    """Return the code of the policies' answer and the answer: empty where the person may approve.

    `assurance_too_low` is the code where nothing but the assurance of the session is in the way.
    """
    person = approver.person_id
    runs_it = requester.subject in {f"agent:{agent_id}" for agent_id in approver.operated_agents}
    if runs_it or (approver.name and requester.operated_by.casefold() == approver.name.casefold()):
        requester = replace(requester, operated_by=person)
    asked = {"requester": requester, "level": level, "action": action}
    decision = approving.decide(approver, resource, **asked)  # type: ignore[arg-type]
    if decision.allowed:
        return "", decision
    strongest = replace(approver, assurance=_HIGHEST_ASSURANCE)
    lifted = approving.decide(strongest, resource, **asked).allowed  # type: ignore[arg-type]
    code = "assurance_too_low" if lifted else "refused"
    return code, decision


def _approver_fault(approval: Approval, query: Query, approving: Approving) -> str:
    """Ask again who may approve, of the person as they were when they did."""
    if not isinstance(query.resource, ResourceFacts) or not isinstance(query.principal, AgentFacts):
        return "consent_mismatch"
    if query.resource.protected and approval.scope != "exact":
        return "consent_mismatch"
    approver = Approver(
        person_id=approval.approver,
        name=approval.approver_name,
        roles=frozenset(approval.roles),
        assurance=approval.assurance,
    )
    code, _ = approving_code(
        approving, approver, query.resource, requester=query.principal, level=query.level, action=query.action
    )
    return "consent_required" if code == "refused" else code


def _digests(binding: Binding) -> Sequence[str]:
    return [binding.digest(BINDS_OF_SCOPE[scope]) for scope in SCOPES]


def _stands(tx: Tx, request: ConsentRequest) -> bool:
    approval = tx.approvals.get(request.approval_id) if request.approval_id else None
    return approval is not None and not approval_fault(approval, request.binding, tx.now)


def _told(given: Consented, asked: Asked, access: AccessRequest) -> Unconsented:
    code = given.fault if given.fault and given.fault != "consent_required" else asked.code
    return Unconsented(
        code=code,
        detail=given.detail if given.fault == code and given.detail else _DETAILS[code],
        access=access,
        retry_after_seconds=asked.retry_after_seconds if code == asked.code else 0,
    )


def _fault_detail(fault: str, approval: Approval, binding: Binding) -> str:
    if fault == "consent_mismatch":
        return f"{_DETAILS[fault]}: not the same {', '.join(differing(approval, binding)) or 'scope'}"
    if fault == "consent_required":
        return "the policies in force do not accept who approved; ask again"
    return _DETAILS[fault]


def _is_readable(request: GovernedRequest) -> bool:
    try:
        check_readable(request)
    except RequestError:
        return False
    return True
