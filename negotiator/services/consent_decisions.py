"""Consents as people see them: look, approve, deny, take back.

Rules:

- Who may approve is computed: Cedar is asked `approve_consent`, about the person as their session is now. No agent
  chooses its approver, and no credential of an agent becomes one.
- Whoever decides sends back the digest of what they saw; where it is not what stands there now: `display_changed`.
- A person may only narrow; one use unless they say otherwise.
- Denying and taking back ask no policy: whoever holds a role here may.
- An approval that the policies refuse is recorded, and the request goes on waiting.
- A request that nobody can carry out any more (its agent or its route is gone) has `failed`.

It does not: sign people in, or make pages.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

from negotiator.errors import ClaimFailed, RequestError
from negotiator.model.approvers import Approver
from negotiator.model.consents import (
    BINDS_OF_SCOPE,
    Approval,
    ConsentRequest,
    ConsentState,
    Narrowing,
    narrowed,
)
from negotiator.model.displays import display_digest, display_of
from negotiator.model.entries import EntryValue
from negotiator.model.facts import AgentFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.model.records import Agent, Negotiation
from negotiator.model.routes import RouteRule
from negotiator.policy import Engine
from negotiator.ports import Chore, Clock, Ids, Reader, Store, Tx
from negotiator.services.approvals import approving_code
from negotiator.services.asking import ConsentTerms, consent_entry
from negotiator.services.assessment import effective_level
from negotiator.services.callers import until_claimed
from negotiator.services.consents import rules_for
from negotiator.services.policies import Policies
from negotiator.services.watch import Watch

__all__ = ["ConsentDecisions", "Shown", "ending", "expiry_chore", "revoking"]

_SWEEP_SECONDS = 10.0
_REQUEST_PENDING = "request_pending"
_CHANGED = "it is not any more what you saw; look at it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One consent request as a person is shown it.

    Attributes:
        display: the canonical structure of `model.displays`.
        digest: of it; comes back with the decision.
        status: where the request stands.
        may_approve: empty, or the code that says why this person may not approve it now.
        policies: that say so.
        approval: what came of it, if it was approved.
    """

    display: Mapping[str, Any]
    digest: str
    status: ConsentState
    may_approve: str = ""
    policies: Sequence[str] = ()
    approval: Approval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A request with what it stands on, as of one read."""

    request: ConsentRequest
    agent: Agent | None
    negotiation: Negotiation | None
    resource: ResourceFacts | None
    approval: Approval | None

    @property
    def possible(self) -> bool:
        """Whether anybody could still carry it out."""
        return bool(self.agent and self.agent.revoked_at is None and self.negotiation and self.resource)

    @property
    def display(self) -> Mapping[str, Any]:
        return display_of(
            self.request,
            agent_name=self.agent.name if self.agent else "",
            operated_by=self.agent.operated_by if self.agent else "",
            resource=self.resource or ResourceFacts(name=self.request.resource),
        )

    def requester(self) -> AgentFacts:
        facts = self.negotiation.principal if self.negotiation else AgentFacts(subject=self.request.subject)
        return replace(facts, operated_by=self.agent.operated_by if self.agent else facts.operated_by)


class ConsentDecisions:
    """The consents of one project, as people decide them."""

    def __init__(
        self,
        *,
        store: Store,
        policies: Policies,
        rules: Sequence[RouteRule],
        watch: Watch,
        clock: Clock,
        ids: Ids,
        terms: ConsentTerms,
    ) -> None:
        self._store = store
        self._policies = policies
        self._rules = rules
        self._watch = watch
        self._clock = clock
        self._ids = ids
        self._terms = terms

    async def newest(self, approver: Approver) -> Sequence[ConsentRequest]:
        """Return the newest requests, at most 100.

        Raises:
            RequestError: `not_found`, for a person without a role here.
        """
        _check_role(approver)
        return await self._store.read(lambda reader: reader.consents.newest())

    async def show(self, approver: Approver, request_id: str) -> Shown:
        """Return what this person is to see of a request, and whether they may approve it.

        Raises:
            RequestError: `not_found`, also for a person without a role here.
        """
        _check_role(approver)
        case = await self._case(request_id)
        code: str = ""
        policies: tuple[str, ...] = ()
        if case.possible and case.resource is not None:
            code, policies, _ = self._asked(approver, case, self._policies.engine)
        display = case.display
        return Shown(
            display=display,
            digest=display_digest(display),
            status=case.request.state_at(self._clock.now()),
            may_approve=code,
            policies=policies,
            approval=case.approval,
        )

    async def decide(
        self,
        approver: Approver,
        request_id: str,
        *,
        displayed_digest: str,
        decision: Literal["approve", "deny"],
        narrowing: Narrowing | None = None,
    ) -> ConsentState:
        """Decide a request that waits, and return where it stands then.

        Args:
            approver: the person, as their session is now.
            request_id: which one.
            displayed_digest: of what they saw.
            decision: what they say.
            narrowing: what they give instead of what was asked for.

        Raises:
            RequestError: `not_found`, `display_changed`, `assurance_too_low`, `refused`, `narrowing_refused`.
            UnavailableError: it could not be recorded.
        """
        _check_role(approver)
        state = await until_claimed(
            lambda _failed: self._decide(approver, request_id, displayed_digest, decision, narrowing or Narrowing())
        )
        self._watch.wake(request_id)
        return state

    async def take_back(self, approver: Approver, approval_id: str) -> None:
        """Revoke an approval: it covers nothing from this commit on.

        Raises:
            RequestError: `not_found`, also for a person without a role here.
            UnavailableError: it could not be recorded.
        """
        _check_role(approver)
        await self._store.transact(revoking(approval_id, by=approver.person_id, actor=_actor(approver)))

    async def _decide(
        self, approver: Approver, request_id: str, displayed: str, decision: str, narrowing: Narrowing
    ) -> ConsentState:
        case = await self._case(request_id)
        request, now = case.request, self._clock.now()
        if request.state_at(now) is not ConsentState.PENDING:
            _changed()
        if not hmac.compare_digest(display_digest(case.display).encode(), displayed.encode("utf-8", "replace")):
            _changed()
        if decision == "deny":
            return await self._ended(case, ConsentState.DENIED, "consent_denied", approver, displayed)
        if not case.possible:
            return await self._ended(case, ConsentState.FAILED, "consent_failed", approver, displayed)
        return await self._approved(case, approver, displayed, narrowing)

    async def _ended(
        self, case: _Case, state: ConsentState, code: str, approver: Approver, displayed: str
    ) -> ConsentState:
        unit = ending(case.request, state, code, by=approver.person_id, actor=_actor(approver), displayed=displayed)
        await self._store.transact(unit)
        return state

    async def _approved(self, case: _Case, approver: Approver, displayed: str, narrowing: Narrowing) -> ConsentState:
        engine = self._policies.engine
        code, policies, bundle_digest = self._asked(approver, case, engine)
        members: dict[str, EntryValue] = {
            "assurance": approver.assurance,
            "policies": list(policies),
            "bundle_digest": bundle_digest,
            "display_digest": displayed,
        }
        if code:
            await self._refused(case.request, code, engine, approver, members)
        latest = self._clock.now() + self._terms.approval_lifetime
        scope, uses, expires_at = narrowed(case.request, narrowing, latest=latest)
        if expires_at <= self._clock.now():
            _refuse_narrowing("the approval would be over before it begins")
        if case.resource and case.resource.protected and scope != "exact":
            _refuse_narrowing("a protected operation is approved exactly as it runs")
        approval_id, binds = self._ids.new(), BINDS_OF_SCOPE[scope]
        request = case.request

        def unit(tx: Tx) -> ConsentState:
            self._policies.claim(engine)
            _claim_waiting(tx, request)
            tx.approvals.add(
                Approval(
                    approval_id=approval_id,
                    request_id=request.request_id,
                    subject=request.subject,
                    action=request.action,
                    resource_type=request.resource_type,
                    resource=request.resource,
                    scope=scope,
                    binds=binds,
                    values={name: request.values[name] for name in binds},
                    digest=request.binding.digest(binds),
                    approver=approver.person_id,
                    approver_name=approver.name,
                    roles=sorted(approver.roles),
                    assurance=approver.assurance,
                    uses=uses,
                    uses_left=uses,
                    bundle_digest=bundle_digest,
                    display_digest=displayed,
                    epoch=tx.epoch,
                    granted_at=tx.now,
                    expires_at=expires_at,
                )
            )
            tx.consents.end(
                request.request_id, ConsentState.APPROVED, at=tx.now, by=approver.person_id, approval_id=approval_id
            )
            given: dict[str, EntryValue] = {
                "approval_id": approval_id,
                "approved_scope": scope,
                "approved_digest": request.binding.digest(binds),
                "uses": uses,
            }
            tx.append(consent_entry("consent_approved", request, actor=_actor(approver), members={**members, **given}))
            return ConsentState.APPROVED

        return await self._store.transact(unit)

    async def _refused(
        self,
        request: ConsentRequest,
        code: str,
        engine: Engine,
        approver: Approver,
        members: Mapping[str, EntryValue],
    ) -> NoReturn:
        """Record that the policies did not let this person approve, and say so."""

        def unit(tx: Tx) -> None:
            self._policies.claim(engine)
            tx.append(consent_entry(code, request, actor=_actor(approver), decision="deny", members=members))

        await self._store.transact(unit)
        message = (
            "approving this takes a stronger sign-in" if code == "assurance_too_low" else "you may not approve this"
        )
        raise RequestError(message, code=code)

    def _asked(self, approver: Approver, case: _Case, engine: Engine) -> tuple[str, tuple[str, ...], str]:
        """Return the code (empty where the person may approve), the policies that decided, and their bundle."""
        level: Level | None = effective_level(engine, case.negotiation)
        resource = case.resource or ResourceFacts(name=case.request.resource)
        code, decision = approving_code(
            self._policies.approving,
            approver,
            resource,
            requester=case.requester(),
            level=level,
            action=case.request.action,
        )
        return code, decision.policies, decision.bundle_digest

    async def _case(self, request_id: str) -> _Case:
        def query(reader: Reader) -> _Case | None:
            request = reader.consents.get(request_id)
            if request is None:
                return None
            return _Case(
                request=request,
                agent=next((each for each in reader.agents.all() if each.agent_id == request.agent_id), None),
                negotiation=reader.negotiations.get(request.negotiation_id),
                resource=self._resource(request),
                approval=reader.approvals.get(request.approval_id) if request.approval_id else None,
            )

        case = await self._store.read(query)
        if case is None:
            _unknown()
        return case

    def _resource(self, request: ConsentRequest) -> ResourceFacts | None:
        """Return what it acts upon as it is configured now, at its most guarded; None where no rule has it."""
        found = [
            rule.resource
            for rule in rules_for(self._rules, request.action, request.resource)
            if rule.resource.type == request.resource_type
        ]
        return max(found, key=lambda resource: (resource.protected, resource.two_person), default=None)


def expiry_chore() -> Chore:
    """Return what the store attends to: requests that nobody decided in time."""
    return Chore(name="consents", every_seconds=_SWEEP_SECONDS, unit=_expire)


def _expire(tx: Tx) -> None:
    for request in tx.consents.due(tx.now):
        if tx.consents.end(request.request_id, ConsentState.EXPIRED, at=tx.now):
            tx.append(
                consent_entry("consent_expired", request, actor={"type": "Host", "id": tx.owner}, decision="deny")
            )


def ending(
    request: ConsentRequest, state: ConsentState, code: str, *, by: str, actor: EntryValue, displayed: str = ""
) -> Callable[[Tx], None]:
    """Return the unit that ends a request that waits, without an approval."""
    shown: dict[str, EntryValue] = {"display_digest": displayed} if displayed else {}

    def unit(tx: Tx) -> None:
        _claim_waiting(tx, request)
        tx.consents.end(request.request_id, state, at=tx.now, by=by)
        tx.append(consent_entry(code, request, actor=actor, decision="deny", members=shown))

    return unit


def revoking(approval_id: str, *, by: str, actor: EntryValue) -> Callable[[Tx], bool]:
    """Return the unit that revokes an approval; it gives False where it was revoked already."""

    def unit(tx: Tx) -> bool:
        approval = tx.approvals.get(approval_id)
        request = tx.consents.get(approval.request_id) if approval else None
        if request is None:
            _unknown()
        if not tx.approvals.revoke(approval_id, at=tx.now, by=by):
            return False
        tx.append(consent_entry("approval_revoked", request, actor=actor, members={"approval_id": approval_id}))
        return True

    return unit


def _claim_waiting(tx: Tx, request: ConsentRequest) -> None:
    """Claim that the request still waits.

    Raises:
        ClaimFailed: `request_pending`.
    """
    now = tx.consents.get(request.request_id)
    if now is None or now.state_at(tx.now) is not ConsentState.PENDING:
        raise ClaimFailed(_REQUEST_PENDING)


def _actor(approver: Approver) -> dict[str, EntryValue]:
    return {"type": "Human", "id": approver.person_id}


def _check_role(approver: Approver) -> None:
    if not approver.roles:
        _unknown()


def _refuse_narrowing(message: str) -> NoReturn:
    raise RequestError(message, code="narrowing_refused")


def _unknown() -> NoReturn:
    message = "there is no such thing here"
    raise RequestError(message, code="not_found")


def _changed() -> NoReturn:
    raise RequestError(_CHANGED, code="display_changed")
