"""Long tasks: begun by a decision, followed by what the agent says, ended by its report or by time.

- Beginning one is the action `run_task` upon `Resource::"tasks"`: the policies say who may, with what. The decision,
  the task and its key commit together, in one entry of kind `task`.
- Status and final report are the agent's own word, from the agent alone; each is an entry. They are checked against
  the machine (`model.tasks.TRANSITIONS`) and against the clock, in the unit.
- The final report is kept as evidence of its agent.
- A sweep moves what is due: a task that ends without a final report has an entry that says so.
- A task is a request like any other: it costs the same budget, and the kill switch stops it.

It does not: run any work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from negotiator.canonical import sha256_hex
from negotiator.errors import ClaimFailed, RequestError, UnavailableError
from negotiator.messages import Catalog, Validator, decode_message, require_profile
from negotiator.model.decisions import Decision, Query
from negotiator.model.entries import EntryDraft, EntryKind, EntryPosition, EntryValue
from negotiator.model.facts import ANONYMOUS, DeclaredFacts, RequestFacts, ResourceFacts
from negotiator.model.governed import GovernedRequest, Presented, Refusal
from negotiator.model.levels import Level
from negotiator.model.records import KeyUse
from negotiator.model.routes import RouteRule
from negotiator.model.tasks import Task, TaskState, due_at
from negotiator.policy import Engine, settle
from negotiator.ports import Clock, Ids, Meter, Store, Tx
from negotiator.services.assessment import effective_level, has_errors
from negotiator.services.brought import EvidenceUse
from negotiator.services.budgets import Budgets, OverBudgetError, Payment
from negotiator.services.callers import Caller, Callers, until_claimed
from negotiator.services.enforcement import UNEXPIRED
from negotiator.services.governance import Governance
from negotiator.services.keys import has_key, key_use
from negotiator.services.policies import Policies
from negotiator.services.recording import claim_members, decision_members, presented_members, request_members
from negotiator.services.refusals import from_decision
from negotiator.services.room import Claimant, Room
from negotiator.services.task_moves import applied, check_names_task, report_change, status_change
from negotiator.services.task_requests import TaskWish, read_wish

__all__ = ["Begun", "TaskTerms", "Tasks"]

STATUS_PROFILE: Final = "uai.task.status.v1"
REPORT_PROFILE: Final = "uai.agent.final-report.v1"

_ACTION = "run_task"
_RESOURCE = ResourceFacts(name="tasks", kind="task")
_KEY_DETAILS: Final[Mapping[str, str]] = {
    "idempotency_mismatch": "this idempotency key was used for another request; take a new key for a new task",
    "idempotency_answer_not_stored": "the task that this key began has ended and is kept in the ledger alone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTerms:
    """What a site's configuration fixes.

    Attributes:
        prefix: where our own routes live.
        max_open: tasks of one agent that have not ended.
        lifetime: from the beginning of a task to its latest `expires_at`.
        max_message_bytes: larger messages are refused.
    """

    prefix: str
    max_open: int
    lifetime: timedelta
    max_message_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What came of the wish to begin a task. It was recorded before it was returned.

    Attributes:
        task: None where it was refused.
        replayed: the task was begun by an earlier request with the same key.
        position: of the entry; None for a refusal.
    """

    decision_id: str
    task: Task | None = None
    level: Level | None = None
    replayed: bool = False
    position: EntryPosition | None = None
    refusal: Refusal | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the answer; only where there is a task."""
        assert self.task is not None  # noqa: S101 - refusals are worded elsewhere
        placed = {"ledger": self.position.as_json()} if self.position else {}
        return {**self.task.as_json(), **placed}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The wish to begin a task, and what the policies say to it."""

    request: GovernedRequest
    caller: Caller
    engine: Engine
    query: Query
    decision: Decision
    wish: TaskWish
    decision_id: str

    @property
    def members(self) -> dict[str, EntryValue]:
        """The members of its entry, but for what was claimed."""
        correlation = {"correlation_id": self.wish.correlation_id} if self.wish.correlation_id else {}
        return {
            **decision_members(self.query, self.decision, engine=self.engine.name),
            **request_members(self.request),
            **correlation,
            "decision_id": self.decision_id,
        }


class Tasks:
    """The long tasks of one project."""

    def __init__(
        self,
        *,
        store: Store,
        callers: Callers,
        policies: Policies,
        evidence: EvidenceUse,
        catalog: Catalog,
        clock: Clock,
        ids: Ids,
        budgets: Budgets,
        room: Room,
        governance: Governance,
        terms: TaskTerms,
        meter: Meter,
    ) -> None:
        self._store = store
        self._callers = callers
        self._policies = policies
        self._evidence = evidence
        self._catalog = catalog
        self._validator = Validator(catalog)
        self._clock = clock
        self._ids = ids
        self._budgets = budgets
        self._room = room
        self._governance = governance
        self._terms = terms
        self._meter = meter
        self._rule = RouteRule(
            methods=frozenset({"POST"}),
            path=f"{terms.prefix}/tasks",
            action=_ACTION,
            resource=_RESOURCE,
            undeclared="deny",
        )

    async def begin(self, data: bytes, presented: Presented, *, source: str) -> Begun:
        """Decide whether a task may begin, and begin it.

        Args:
            data: JSON `{correlation_id, expires_at, timeout_ms, fallback}`.
            presented: the claims of the request's headers.
            source: the client's address, for its budget.

        Raises:
            RequestError: `declaration_required`, `negotiation_expired`, `credentials_invalid`; `task_invalid`, or
                a code of strict decoding, where the body cannot be used.
            OverBudgetError: `over_budget`: too many requests, or too many open tasks.
            UnavailableError: it could not be recorded, or agents are stopped.
        """
        began = self._clock.monotonic()
        payment = Payment(lambda agent_id: self._budgets.spend_request(agent_id, source))
        if self._governance.stops(self._request(data, presented)):
            message = "agents are stopped here"
            raise UnavailableError(message, code="governance_stopped", retry_after_seconds=60)
        begun = await until_claimed(lambda failed: self._begin(data, presented, failed, payment=payment, source=source))
        self._meter.decided(
            decision="deny" if begun.refusal else "allow",
            code=begun.refusal.code if begun.refusal else "allowed",
            action=_ACTION,
            seconds=self._clock.monotonic() - began,
        )
        return begun

    async def get(self, task_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return the caller's own task.

        Raises:
            RequestError: `not_found`, also where it is somebody else's; `credentials_invalid`.
        """
        return (await self._own(task_id, presented, frozenset()))[1].as_json()

    async def status(self, task_id: str, data: bytes, presented: Presented) -> Mapping[str, Any]:
        """Take a `uai.task.status.v1` of the task's agent and return the task as it is then.

        Raises:
            RequestError: `not_found`; `task_invalid`, `task_state_conflict`; `credentials_invalid`; what decoding
                raises.
            UnavailableError: it could not be recorded.
        """
        return await until_claimed(lambda failed: self._move(task_id, data, presented, failed, STATUS_PROFILE))

    async def report(self, task_id: str, data: bytes, presented: Presented) -> Mapping[str, Any]:
        """Take the final report of the task's agent, keep it as evidence, and close the task.

        Raises:
            RequestError: as `status`.
            UnavailableError: it could not be recorded.
        """
        return await until_claimed(lambda failed: self._move(task_id, data, presented, failed, REPORT_PROFILE))

    async def _begin(
        self, data: bytes, presented: Presented, failed: frozenset[str], *, payment: Payment, source: str
    ) -> Begun:
        caller = await self._callers.resolve(presented, failed=failed)
        payment.make(caller.identity.agent_id)
        if caller.negotiation is None:
            message = "a task needs a capability declaration first"
            raise RequestError(message, code="declaration_required")
        wish = read_wish(data, presented, now=self._clock.now(), lifetime=self._terms.lifetime)
        caller = replace(caller, brought=await self._evidence.brought(caller.identity, presented.evidence))
        engine = self._policies.engine
        level = effective_level(engine, caller.negotiation)
        if level is None:
            message = "the policies leave this declaration no level; declare again"
            raise RequestError(message, code="negotiation_expired")
        request = self._request(data, presented)
        query = self._query(request, caller, wish, level, expired=UNEXPIRED in failed)
        wanted = _Wanted(
            request=request,
            caller=caller,
            engine=engine,
            query=query,
            decision=settle(engine, query),
            wish=wish,
            decision_id=self._ids.new(),
        )
        if not wanted.decision.allowed:
            return await self._denied(wanted, source)
        self._room.require(Claimant.EFFECT)
        task_id = self._ids.new()
        return await self._store.transact(lambda tx: self._begun(tx, wanted, task_id))

    async def _denied(self, wanted: _Wanted, source: str) -> Begun:
        caller, decision, engine = wanted.caller, wanted.decision, wanted.engine
        verified = caller.identity.verified
        if self._budgets.has_entry(decision.code, source, verified=verified):

            def unit(tx: Tx) -> None:
                self._claim(tx, wanted)
                tx.append(EntryDraft(kind=EntryKind.TASK, members={**wanted.members, **claim_members(caller)}))

            await self._store.transact(unit)
        own = caller.negotiation.body if caller.negotiation else {}
        refusal = from_decision(
            decision,
            decision_id=wanted.decision_id,
            public=None if verified else engine.bundle.public_ids,
            fallback=str(own.get("fallback_behavior", "")),
            safe_default=str(own.get("safe_default_response", "")),
        )
        return Begun(decision_id=wanted.decision_id, level=wanted.query.level, refusal=refusal)

    def _begun(self, tx: Tx, wanted: _Wanted, task_id: str) -> Begun:
        """The unit of an allowed beginning.

        Raises:
            ClaimFailed: something that the decision stood on is not what it was.
            OverBudgetError: `over_budget`.
        """
        self._claim(tx, wanted)
        caller, subject = wanted.caller, wanted.caller.identity.subject
        use = None
        if has_key(wanted.request, caller):
            use = key_use(wanted.request, caller, decision_id=wanted.decision_id, at=tx.now)
            if taken := tx.idempotency.take(use):
                return _again(tx, taken, use, wanted)
        if tx.tasks.open_count(subject) >= self._terms.max_open:
            message = f"{self._terms.max_open} of your tasks have not ended; report on one of them first"
            raise OverBudgetError(message, code="over_budget", retry_after_seconds=60)
        task = _task(wanted.wish, task_id, wanted.decision_id, subject, tx.now)
        tx.tasks.add(task)
        own: dict[str, EntryValue] = {"task_id": task_id, "state": task.state.value, **claim_members(caller, use)}
        position = tx.append(EntryDraft(kind=EntryKind.TASK, members={**wanted.members, **own}))
        return Begun(decision_id=wanted.decision_id, task=task, level=wanted.query.level, position=position)

    def _claim(self, tx: Tx, wanted: _Wanted) -> None:
        self._policies.claim(wanted.engine)
        wanted.caller.claim(tx)
        expires_at = wanted.wish.expires_at
        if expires_at is not None and not wanted.query.request.is_expired and expires_at <= tx.now:
            raise ClaimFailed(UNEXPIRED)

    def _request(self, data: bytes, presented: Presented) -> GovernedRequest:
        return GovernedRequest(
            method="POST",
            target=self._rule.path,
            rule=self._rule,
            presented=presented,
            caller_class="agent",
            content_type="application/json",
            body=data,
            body_sha256=sha256_hex(data),
            body_bytes=len(data),
        )

    def _query(self, request: GovernedRequest, caller: Caller, wish: TaskWish, level: Level, *, expired: bool) -> Query:
        negotiation = caller.negotiation
        declaration = negotiation.declared if negotiation else DeclaredFacts()
        facts = RequestFacts(
            **declaration.declared(),
            method=request.method,
            route=request.rule.label,
            has_idempotency_key=has_key(request, caller),
            has_correlation=bool(wish.correlation_id),
            has_expiry=wish.expires_at is not None,
            is_expired=expired or (wish.expires_at is not None and wish.expires_at <= self._clock.now()),
            tags=caller.brought.tags,
        )
        return Query(
            principal=negotiation.principal if negotiation else ANONYMOUS,
            level=level,
            action=_ACTION,
            resource=_RESOURCE,
            request=facts,
        )

    async def _move(
        self, task_id: str, data: bytes, presented: Presented, failed: frozenset[str], profile: str
    ) -> Mapping[str, Any]:
        caller, known = await self._own(task_id, presented, failed)
        message = decode_message(data, self._catalog, max_bytes=self._terms.max_message_bytes)
        require_profile(message, {profile})
        findings = self._validator.check_message(message, strict=False)
        if has_errors(findings):
            worst = next(finding for finding in findings if finding.severity == "error")
            raise RequestError(worst.message, code="task_invalid", pointer=worst.pointer)
        check_names_task(message.keyed, known)
        body = message.keyed["body"]
        reports = profile == REPORT_PROFILE
        change = report_change(body, data, at=self._clock.now()) if reports else status_change(body)
        own: dict[str, EntryValue] = {
            "decision_id": self._ids.new(),
            "message_digest": message.digest,
            **presented_members(presented),
        }

        def unit(tx: Tx) -> Task:
            caller.claim(tx)
            task = tx.tasks.get(task_id)
            if task is None:
                _not_found()
            return applied(tx, task, replace(change, members={**own, **change.members}))

        return (await self._store.transact(unit)).as_json()

    async def _own(self, task_id: str, presented: Presented, failed: frozenset[str]) -> tuple[Caller, Task]:
        caller = await self._callers.resolve(presented, fresh=True, failed=failed)
        found = await self._store.read(lambda reader: reader.tasks.get(task_id))
        if found is None or found.subject != caller.identity.subject:
            _not_found()
        return caller, found


def _again(tx: Tx, taken: KeyUse, use: KeyUse, wanted: _Wanted) -> Begun:
    """Return what a key that was used before gives: its own task, or a refusal."""
    again: dict[str, EntryValue] = {
        "first_decision_id": taken.decision_id,
        **claim_members(wanted.caller, use),
    }
    same = taken.fingerprint == use.fingerprint
    task = tx.tasks.of_decision(taken.decision_id) if same else None
    level, decision_id = wanted.query.level, wanted.decision_id
    if task is not None:
        members = {**wanted.members, **again, "task_id": task.task_id}
        position = tx.append(EntryDraft(kind=EntryKind.REPLAY, members=members))
        return Begun(decision_id=decision_id, task=task, level=level, replayed=True, position=position)
    code = "idempotency_answer_not_stored" if same else "idempotency_mismatch"
    tx.append(EntryDraft(kind=EntryKind.TASK, members={**wanted.members, **again, "decision": "deny", "code": code}))
    refusal = Refusal(code=code, detail=_KEY_DETAILS[code], decision_id=decision_id)
    return Begun(decision_id=decision_id, level=level, refusal=refusal)


def _task(wish: TaskWish, task_id: str, decision_id: str, subject: str, now: datetime) -> Task:
    expires_at = wish.expires_at or now + timedelta(milliseconds=wish.timeout_ms)
    return Task(
        task_id=task_id,
        decision_id=decision_id,
        subject=subject,
        correlation_id=wish.correlation_id,
        state=TaskState.ACCEPTED,
        progress=None,
        note="",
        timeout_ms=wish.timeout_ms,
        fallback=wish.fallback,
        outcome="",
        report_id="",
        created_at=now,
        changed_at=now,
        expires_at=expires_at,
        due_at=due_at(TaskState.ACCEPTED, created_at=now, timeout_ms=wish.timeout_ms, expires_at=expires_at),
        ended_at=None,
    )


def _not_found() -> NoReturn:
    message = "there is no such task, or it is not yours"
    raise RequestError(message, code="not_found")
