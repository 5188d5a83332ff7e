"""Governed requests: resolve the caller, decide, make the claims true, record, and only then answer.

- The decision is made as if each claim held; the unit claims it, or rolls back and the request is decided again on
  fresh rows (at most once per claim, then 503). The last decision is the recorded one.
- The bundle is one of the claims, and an effective level that another bundle gave is worked out again under this one.
- Allowed effects open an intent in the same transaction; `finish` writes the outcome and closes it.
- A key that was used before starts nothing: its caller is told what became of the first request (`replays`), also
  where the repetition lacks something. What is never allowed is refused before that.
- An allowed `write_memory` never reaches the site: it becomes a pending proposal in the same transaction.
- Requests are paid for; a stranger's refusals beyond its budget are counted instead of recorded.
- A request without a negotiation is treated as its route rule says (`undeclared`), and recorded just the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from negotiator.canonical import sha256_hex
from negotiator.errors import ClaimFailed, RequestError, UnavailableError, UnsureError
from negotiator.model.decisions import Decision, Query
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.facts import ANONYMOUS, DeclaredFacts, RequestFacts
from negotiator.model.governed import GovernedRequest, Outcome, Presented, Refusal, Verdict
from negotiator.model.levels import Level
from negotiator.model.records import OutcomeEnd, Principal
from negotiator.policy import Engine, settle
from negotiator.ports import Clock, Ids, Lane, Meter, Store, Tx
from negotiator.services.approvals import Approvals, Consented, Unconsented, check_readable
from negotiator.services.assessment import effective_level
from negotiator.services.brought import EvidenceUse
from negotiator.services.budgets import Budgets, Payment
from negotiator.services.callers import NOBODY, Caller, Callers, until_claimed
from negotiator.services.effects import Begun, Effect
from negotiator.services.governance import Governance
from negotiator.services.keys import consumed_facts, has_key
from negotiator.services.leases import Leases, record_outcome
from negotiator.services.policies import Policies
from negotiator.services.recording import (
    claim_members,
    decision_members,
    request_members,
    undecided_members,
)
from negotiator.services.refusals import declaration_obligation, from_decision
from negotiator.services.replays import Repeated, Repetition, Replays, goes_before, taken_as_met
from negotiator.services.room import Claimant, Room

__all__ = ["Enforcement"]

Claim: TypeAlias = Callable[[Tx], None]

UNEXPIRED = "unexpired"
_NOT_CALLED = Outcome(end=OutcomeEnd.ABORTED, status=0, body_bytes=0, body_sha256=sha256_hex(b""), called=False)
_POLICIES_CHANGED = "the policies changed and leave this declaration no level; declare again"
_NOTHING_GIVEN = Consented()
_SHADOW: Mapping[str, EntryValue] = {"mode": "shadow"}
_DECLARE_AGAIN = frozenset({"declaration_required", "negotiation_expired"})


class Enforcement:
    """Decides and records governed requests of one project."""

    def __init__(
        self,
        *,
        store: Store,
        callers: Callers,
        policies: Policies,
        leases: Leases,
        replays: Replays,
        governance: Governance,
        budgets: Budgets,
        room: Room,
        approvals: Approvals,
        evidence: EvidenceUse,
        clock: Clock,
        ids: Ids,
        prefix: str,
        meter: Meter,
    ) -> None:
        self._store = store
        self._callers = callers
        self._policies = policies
        self._leases = leases
        self._replays = replays
        self._governance = governance
        self._budgets = budgets
        self._room = room
        self._approvals = approvals
        self._evidence = evidence
        self._clock = clock
        self._ids = ids
        self._prefix = prefix
        self._meter = meter

    async def decide(self, request: GovernedRequest) -> Verdict:
        """Decide `request`, record the decision, and return it.

        Raises:
            OverBudgetError: `over_budget`; nothing was recorded.
            UnavailableError: it could not be recorded, or facts kept changing; the site must not be called.
        """
        began = self._clock.monotonic()
        payment = Payment(lambda agent_id: self._budgets.spend_request(agent_id, request.source))
        if self._governance.stops(request):
            verdict = await self._denied(request, None, code="governance_stopped", detail="agents are stopped here")
        else:
            verdict = await until_claimed(lambda failed: self._decide_once(request, failed, payment))
        return self._counted(request, began, verdict)

    async def refuse(self, request: GovernedRequest, *, code: str, detail: str) -> Verdict:
        """Record a refusal that was made before the policies were asked and the caller was known, and return it.

        Raises:
            UnavailableError: it could not be recorded.
        """
        began = self._clock.monotonic()
        verdict = await self._denied(request, None, code=code, detail=detail)
        return self._counted(request, began, verdict)

    async def finish(self, verdict: Verdict, outcome: Outcome) -> None:
        """Write the outcome of an effect and close its intent.

        Raises:
            UnavailableError: it could not be written in time. It is owed, and written when the ledger takes it.
        """
        try:
            await self._store.transact(lambda tx: record_outcome(tx, verdict, outcome), Lane.OUTCOME)
        except UnavailableError:
            self._leases.owe(verdict, outcome)
            raise

    def _counted(self, request: GovernedRequest, began: float, verdict: Verdict) -> Verdict:
        self._meter.decided(
            decision="deny" if verdict.refusal else "allow",
            code=verdict.refusal.code if verdict.refusal else "allowed",
            action=request.rule.action,
            seconds=self._clock.monotonic() - began,
        )
        return verdict if request.rule.binds else replace(verdict, mode=request.rule.mode)

    async def _decide_once(self, request: GovernedRequest, failed: frozenset[str], payment: Payment) -> Verdict:
        try:
            caller = await self._callers.resolve(request.presented, failed=failed)
        except RequestError as error:
            payment.make("")
            return await self._refused(request, None, code=error.code, detail=error.message)
        payment.make(caller.identity.agent_id)
        if caller.negotiation is None:
            return await self._undeclared(request, caller, failed)
        return await self._governed(request, caller, failed)

    async def _undeclared(self, request: GovernedRequest, caller: Caller, failed: frozenset[str]) -> Verdict:
        match request.rule.undeclared:
            case "limited":
                return await self._governed(request, caller, failed)
            case "pass":
                return await self._undecided(request, caller, policy="undeclared-pass")
            case "human_only" if request.caller_class == "human":
                return await self._undecided(request, caller, policy="undeclared-human")
            case "deny" | "human_only":
                detail = "this needs a capability declaration first"
                return await self._refused(request, caller, code="declaration_required", detail=detail)
            case _:
                assert_never(request.rule.undeclared)

    async def _undecided(self, request: GovernedRequest, caller: Caller, *, policy: str) -> Verdict:
        """Let the site have a request that no policy was asked about, and record that it was so."""
        principal = _principal(request, caller)
        members = undecided_members(request, effect="allow", code="allowed", principal=principal, policy=policy)
        claim = self._claim(caller, None)
        return await self._proceed(request, members, caller, claim, principal=principal, level=None)

    async def _refused(self, request: GovernedRequest, caller: Caller | None, *, code: str, detail: str) -> Verdict:
        """Record a denial that no policy was asked about, and return what follows from it in the rule's mode."""
        if request.rule.binds:
            return await self._denied(request, caller, code=code, detail=detail)
        whoever = caller or Caller(identity=NOBODY)
        principal = _principal(request, whoever)
        members = undecided_members(request, effect="deny", code=code, principal=principal, policy="")
        claim = self._claim(whoever, None)
        return await self._proceed(request, {**members, **_SHADOW}, whoever, claim, principal=principal, level=None)

    async def _denied(self, request: GovernedRequest, caller: Caller | None, *, code: str, detail: str) -> Verdict:
        """Record and return a refusal that no policy was asked about; `caller` is None where nobody knows who it is."""
        obligations = (declaration_obligation(self._prefix),) if code in _DECLARE_AGAIN else ()
        members = undecided_members(
            request,
            effect="deny",
            code=code,
            principal=_principal(request, caller) if caller else None,
            policy="unmatched" if code == "route_not_governed" else "",
            obligations=obligations,
        )
        whoever = caller or Caller(identity=NOBODY)
        decision_id = await self._record_refusal(request, members, whoever, self._claim(whoever, None), code=code)
        refusal = Refusal(
            code=code,
            detail=detail,
            decision_id=decision_id,
            obligations=obligations,
            next_action=obligations[0].remedy if obligations else "",
        )
        return Verdict(kind="refuse", decision_id=decision_id, refusal=refusal)

    async def _governed(self, request: GovernedRequest, caller: Caller, failed: frozenset[str]) -> Verdict:
        brought = await self._evidence.brought(caller.identity, request.presented.evidence)
        caller = replace(caller, brought=brought) if brought.links else caller
        engine = self._policies.engine
        level = effective_level(engine, caller.negotiation)
        if level is None:
            return await self._refused(request, caller, code="negotiation_expired", detail=_POLICIES_CHANGED)
        query = self._query(request, caller, level, expired=UNEXPIRED in failed)
        decision, given = settle(engine, query), _NOTHING_GIVEN
        if request.presented.consent:
            try:
                check_readable(request)
            except RequestError as error:
                return await self._denied(request, caller, code=error.code, detail=error.message)
            given = await self._approvals.consented(
                request, caller, query, decision, approving=self._policies.approving, failed=failed
            )
            if given.approval:
                query = replace(query, request=replace(query.request, has_consent=True))
                decision = settle(engine, query)
        if not decision.allowed and request.rule.binds:
            return await self._lacking(request, caller, engine, query, decision, given=given)
        claim = self._claim(caller, engine, query.request, request.presented)
        members = {**decision_members(query, decision, engine=engine.name), **({} if decision.allowed else _SHADOW)}
        principal = Principal(type="Agent", id=query.principal.subject)
        consumed = consumed_facts(query.request)
        return await self._proceed(
            request,
            members,
            caller,
            claim,
            principal=principal,
            level=level,
            consumed=consumed,
            given=given if decision.allowed else _NOTHING_GIVEN,
        )

    async def _lacking(
        self,
        request: GovernedRequest,
        caller: Caller,
        engine: Engine,
        query: Query,
        decision: Decision,
        *,
        given: Consented,
    ) -> Verdict:
        """Refuse a request that may not be made as it is; unless its key says that it was made already."""
        asks_again = not request.rule.reads and has_key(request, caller)
        before = await self._replays.find(request, caller) if asks_again else None
        if before and (changed := taken_as_met(query, before)) is not query:
            query, decision = changed, settle(engine, changed)
        claim = self._claim(caller, engine, query.request, request.presented)
        members = decision_members(query, decision, engine=engine.name)
        if before and (decision.allowed or goes_before(before, decision)):
            repetition = Repetition(
                request=request,
                caller=caller,
                claim=claim,
                decision_id=self._ids.new(),
                members={**members, **request_members(request)},
                before=before,
            )
            repeated = await self._store.transact(repetition.record)
            missing = None if decision.allowed else self._refusal(decision, repeated.decision_id, caller, engine)
            return repeated.verdict(query.level, missing=missing)
        if decision.code == "consent_required" and caller.identity.verified:
            refusal = self._refusal(decision, self._ids.new(), caller, engine)
            return await self._unconsented(
                request, members, caller, claim, given=given, refusal=refusal, level=query.level
            )
        decision_id = await self._record_refusal(request, members, caller, claim, code=decision.code, given=given)
        refusal = self._refusal(decision, decision_id, caller, engine)
        return Verdict(kind="refuse", decision_id=decision_id, level=query.level, refusal=refusal)

    async def _proceed(
        self,
        request: GovernedRequest,
        members: Mapping[str, EntryValue],
        caller: Caller,
        claim: Claim,
        *,
        principal: Principal,
        level: Level | None,
        consumed: tuple[str, ...] = (),
        given: Consented = _NOTHING_GIVEN,
    ) -> Verdict:
        """Record what is allowed; begin its effect, if it has one.

        Raises:
            UnavailableError: `room_low`, or it could not be recorded.
        """
        if request.rule.reads:
            decision_id = await self._record(request, members, caller, claim, given, spend=True)
            return Verdict(kind="proceed", decision_id=decision_id, level=level, standing=caller.standing)
        self._room.require(Claimant.EFFECT)
        effect = Effect(
            request=request,
            caller=caller,
            claim=claim,
            principal=principal,
            decision_id=self._ids.new(),
            members={**members, **request_members(request)},
            proposal_id=self._ids.new() if level is not None and request.rule.holds else "",
            consumed=consumed,
            given=given,
        )
        begun = await self._begin(effect)
        if isinstance(begun, Repeated):
            return begun.verdict(level)
        if begun.proposal_id:
            return Verdict(kind="hold", decision_id=begun.decision_id, level=level, proposal_id=begun.proposal_id)
        return _effect_verdict(effect, level, keeps=self._replays.max_answer_bytes if begun.keyed else None)

    async def _unconsented(
        self,
        request: GovernedRequest,
        members: Mapping[str, EntryValue],
        caller: Caller,
        claim: Claim,
        *,
        given: Consented,
        refusal: Refusal,
        level: Level | None,
    ) -> Verdict:
        """Record and return a refusal for want of consent, with where the consent request stands or is filed."""
        draft = self._approvals.draft(request, caller)
        own = {**members, **request_members(request), **claim_members(caller), "decision_id": refusal.decision_id}

        def unit(tx: Tx) -> Unconsented:
            claim(tx)
            told = self._approvals.unconsented(tx, request, draft, given)
            ties = {"request_id": told.access.request_id} if told.access.request_id else {}
            tx.append(EntryDraft(kind=EntryKind.DECISION, members={**own, **ties, "code": told.code}))
            return told

        told = await self._store.transact(unit)
        return Verdict(
            kind="refuse",
            decision_id=refusal.decision_id,
            level=level,
            refusal=replace(
                refusal,
                code=told.code,
                detail=f"{told.detail}; {refusal.detail}",
                retry_after_seconds=told.retry_after_seconds,
                access_request=told.access,
            ),
        )

    async def _begin(self, effect: Effect) -> Begun | Repeated:
        """Begin the effect; where nobody can go on with it, owe the outcome: the site was not called.

        Raises:
            UnavailableError: nothing has begun, or nobody knows.
        """
        try:
            return await self._store.transact(effect.begin)
        except (UnsureError, asyncio.CancelledError):
            if not effect.proposal_id:
                self._leases.owe(_effect_verdict(effect, None), _NOT_CALLED)
            raise

    def _query(self, request: GovernedRequest, caller: Caller, level: Level, *, expired: bool) -> Query:
        negotiation = caller.negotiation
        expires_at = request.presented.expires_at
        declaration = negotiation.declared if negotiation else DeclaredFacts()
        facts = RequestFacts(
            **declaration.declared(),
            method=request.method,
            route=request.rule.label,
            has_idempotency_key=has_key(request, caller),
            has_correlation=bool(request.presented.correlation),
            has_expiry=expires_at is not None,
            is_expired=expired or (expires_at is not None and expires_at <= self._clock.now()),
            via_proposal=request.rule.holds,
            tags=caller.brought.tags,
        )
        return Query(
            principal=negotiation.principal if negotiation else ANONYMOUS,
            level=level,
            action=request.rule.action,
            resource=request.rule.resource,
            request=facts,
        )

    def _refusal(self, decision: Decision, decision_id: str, caller: Caller, engine: Engine) -> Refusal:
        own = caller.negotiation.body if caller.negotiation else {}
        return from_decision(
            decision,
            decision_id=decision_id,
            public=None if caller.identity.verified else engine.bundle.public_ids,
            fallback=str(own.get("fallback_behavior", "")),
            safe_default=str(own.get("safe_default_response", "")),
        )

    def _claim(
        self,
        caller: Caller,
        engine: Engine | None,
        facts: RequestFacts | None = None,
        presented: Presented | None = None,
    ) -> Claim:
        """Return what makes true, inside a unit, what an answer stood on; without an engine no policy was asked."""
        expires_at = presented.expires_at if presented and facts and not facts.is_expired else None

        def claim(tx: Tx) -> None:
            if engine is not None:
                self._policies.claim(engine)
            caller.claim(tx)
            if expires_at is not None and expires_at <= tx.now:
                raise ClaimFailed(UNEXPIRED)

        return claim

    async def _record_refusal(
        self,
        request: GovernedRequest,
        members: Mapping[str, EntryValue],
        caller: Caller,
        claim: Claim,
        *,
        code: str,
        given: Consented = _NOTHING_GIVEN,
    ) -> str:
        """Commit a refusal and return its id; or count a stranger's that is beyond its budget, and return none."""
        if self._budgets.has_entry(code, request.source, verified=caller.identity.verified):
            return await self._record(request, members, caller, claim, given)
        return ""

    async def _record(
        self,
        request: GovernedRequest,
        members: Mapping[str, EntryValue],
        caller: Caller,
        claim: Claim,
        given: Consented = _NOTHING_GIVEN,
        *,
        spend: bool = False,
    ) -> str:
        """Commit one decision together with what it claims; return its id."""
        decision_id = self._ids.new()
        claims = claim_members(caller, approval_id=given.approval_id)
        own = {**members, **request_members(request), **claims, "decision_id": decision_id}

        def unit(tx: Tx) -> None:
            claim(tx)
            if spend:
                given.spend(tx, decision_id)
            else:
                given.claim(tx)
            tx.append(EntryDraft(kind=EntryKind.DECISION, members=own))

        await self._store.transact(unit)
        return decision_id


def _principal(request: GovernedRequest, caller: Caller) -> Principal:
    """Return whom a request that no policy was asked about is put down to."""
    if request.caller_class == "human":
        return Principal(type="Human", id=request.person)
    return Principal(type="Agent", id=caller.identity.subject)


def _effect_verdict(effect: Effect, level: Level | None, *, keeps: int | None = None) -> Verdict:
    return Verdict(
        kind="proceed",
        decision_id=effect.decision_id,
        level=level,
        intent_open=True,
        principal=effect.principal,
        action=effect.request.rule.action,
        trace_id=effect.request.presented.trace_id,
        standing=effect.caller.standing,
        keeps=keeps,
    )
