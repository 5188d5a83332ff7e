"""Consents as agents see them: ask, look, wait, cancel, give back, receipt.

Rules:

- Asking takes a verified agent with a live negotiation and an idempotency key. A person is asked only where consent
  is what is missing: what the policies would refuse all the same is refused at once.
- A protected operation is asked for exactly, byte by byte.
- Somebody else's request or approval looks like none.
- Cancelling and giving back are always possible, and count from the next commit.

It does not: decide anything for a person (`consent_decisions`), or link with authority: a ticket's address opens
nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NoReturn

from negotiator.canonical import digest, sha256_hex
from negotiator.errors import RequestError, UnavailableError
from negotiator.model.consents import (
    BINDS_OF_SCOPE,
    Approval,
    Binding,
    ConsentRequest,
    ConsentState,
    match_code,
)
from negotiator.model.decisions import Query
from negotiator.model.entries import EntryValue
from negotiator.model.facts import RequestFacts
from negotiator.model.governed import Presented
from negotiator.model.records import KeyUse, Principal
from negotiator.model.routes import RouteRule
from negotiator.model.times import format_time
from negotiator.policy import Engine, settle
from negotiator.ports import Clock, Ids, Store, Tx
from negotiator.services.approvals import MAX_SHOWN_BODY_BYTES
from negotiator.services.asking import Asked, ConsentTerms, consent_entry, file_request
from negotiator.services.assessment import effective_level
from negotiator.services.callers import Caller, Callers, until_claimed
from negotiator.services.consent_forms import Wanted, parse_wanted
from negotiator.services.policies import Policies
from negotiator.services.receipts import Receipts
from negotiator.services.watch import Watch

__all__ = ["MAX_WAIT_SECONDS", "Consents", "Filed", "rules_for"]

MAX_WAIT_SECONDS: Final = 30

_NOT_YOURS = "there is no such thing here, or it is not yours"
_LIMITED: Mapping[str, str] = {
    "consent_denied": "a human said no to this a while ago; do not ask again yet",
    "over_budget": "too many consent requests wait already; let them be decided, or cancel some",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """What came of a posted consent request.

    Attributes:
        document: `id status match_code expires_at`; addresses are the web's.
        replayed: the same key asked for the same before.
    """

    document: Mapping[str, Any]
    replayed: bool = False


class Consents:
    """The consents of one project, as their agents see them."""

    def __init__(
        self,
        *,
        store: Store,
        callers: Callers,
        policies: Policies,
        rules: Sequence[RouteRule],
        receipts: Receipts,
        watch: Watch,
        clock: Clock,
        ids: Ids,
        terms: ConsentTerms,
        route: str,
    ) -> None:
        self._store = store
        self._callers = callers
        self._policies = policies
        self._rules = rules
        self._receipts = receipts
        self._watch = watch
        self._clock = clock
        self._ids = ids
        self._terms = terms
        self._route = route

    async def ask(self, data: bytes, presented: Presented, *, authority: str) -> Filed:
        """File the consent request in `data`, or find the one that an equal one has filed.

        Args:
            data: the request's body.
            presented: the claims of its headers.
            authority: of its `Host`, in lower case.

        Raises:
            RequestError: `consent_invalid`, `idempotency_key_missing`, `idempotency_mismatch`, `identity_required`,
                `declaration_required`, `refused`, `route_not_governed`, `scope_not_allowed`, `consent_not_needed`,
                and as `Callers.resolve` and `decode_json` do.
            UnavailableError: `consent_denied` while a denial cools down, `over_budget`; it could not be recorded.
        """
        return await until_claimed(lambda failed: self._ask(data, presented, authority, failed))

    async def _ask(self, data: bytes, presented: Presented, authority: str, failed: frozenset[str]) -> Filed:
        caller = await self._callers.resolve(presented, failed=failed)
        _check_caller(caller, presented)
        wanted = parse_wanted(data)
        rule = self._rule(wanted)
        engine = self._policies.engine
        self._check_needed(wanted, rule, caller, engine)
        request = self._request(wanted, rule, caller, authority)
        use = KeyUse(
            subject=caller.identity.subject,
            method="POST",
            route=self._route,
            key_sha256=sha256_hex(presented.idempotency_key.encode()),
            fingerprint=digest({"body_sha256": sha256_hex(data), "authority": authority}),
            decision_id=request.request_id,
            proposal_id="",
            used_at=request.created_at,
        )

        def unit(tx: Tx) -> tuple[ConsentRequest, bool]:
            self._policies.claim(engine)
            caller.claim(tx)
            taken = tx.idempotency.take(replace(use, decision_id=_stored_as(tx, request), used_at=tx.now))
            if taken is not None:
                return _taken(tx, taken, use), True
            own = replace(request, created_at=tx.now, expires_at=self._end(tx.now, request.not_after))
            return _waiting(file_request(tx, own, self._terms)), False

        filed, replayed = await self._store.transact(unit)
        return Filed(document=self._shown(filed), replayed=replayed)

    async def get(self, request_id: str, presented: Presented, *, wait_seconds: int = 0) -> Mapping[str, Any]:
        """Return the caller's own consent request, once it is decided or `wait_seconds` are over.

        Raises:
            RequestError: `not_found`, also where it belongs to somebody else; `credentials_invalid`.
        """
        found = await self._own(request_id, presented)
        if wait_seconds and found.state_at(self._clock.now()) is ConsentState.PENDING:
            seconds = min(wait_seconds, MAX_WAIT_SECONDS)
            if await self._watch.wait(request_id, subject=found.subject, seconds=seconds):
                found = await self._own(request_id, presented)
        return self._shown(found)

    async def cancel(self, request_id: str, presented: Presented) -> Mapping[str, Any]:
        """Take back the caller's own consent request; one that no longer waits stays as it is.

        Raises:
            RequestError: `not_found`; `credentials_invalid`.
            UnavailableError: it could not be recorded.
        """
        found = await self._own(request_id, presented)
        caller = Principal(type="Agent", id=found.subject).as_json()

        def unit(tx: Tx) -> None:
            if tx.consents.end(request_id, ConsentState.CANCELLED, at=tx.now, by=found.subject):
                tx.append(consent_entry("consent_cancelled", found, actor=caller))

        await self._store.transact(unit)
        self._watch.wake(request_id)
        return self._shown(await self._own(request_id, presented))

    async def give_back(self, approval_id: str, presented: Presented) -> None:
        """Revoke the caller's own approval: it covers nothing from this commit on.

        Raises:
            RequestError: `not_found`; `credentials_invalid`.
            UnavailableError: it could not be recorded.
        """
        approval, request = await self._own_approval(approval_id, presented)
        actor: EntryValue = Principal(type="Agent", id=approval.subject).as_json()

        def unit(tx: Tx) -> None:
            if tx.approvals.revoke(approval_id, at=tx.now, by=approval.subject):
                tx.append(consent_entry("approval_revoked", request, actor=actor, members={"approval_id": approval_id}))

        await self._store.transact(unit)

    async def receipt(self, approval_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return the signed receipt of the caller's own approval.

        Raises:
            RequestError: `not_found`; `credentials_invalid`.
        """
        approval, request = await self._own_approval(approval_id, presented)
        uses = await self._store.read(lambda reader: reader.approvals.uses_of(approval_id))
        return await self._receipts.signed(approval, request, uses)

    def _rule(self, wanted: Wanted) -> RouteRule:
        """Return the rule that what is wanted falls under; of several, the one that guards most.

        Raises:
            RequestError: `route_not_governed`.
        """
        found = [rule for rule in rules_for(self._rules, wanted.action, wanted.resource) if _takes(rule, wanted.method)]
        if not found:
            message = "no rule lets agents do this here; name an action, resource and method of this site"
            raise RequestError(message, code="route_not_governed")
        return max(found, key=lambda rule: (rule.resource.protected, rule.resource.two_person))

    def _check_needed(self, wanted: Wanted, rule: RouteRule, caller: Caller, engine: Engine) -> None:
        """Ask people only where their consent is what is missing.

        Raises:
            RequestError: `refused`, `consent_not_needed`, `scope_not_allowed`, `negotiation_expired`.
        """
        negotiation = caller.negotiation
        level = effective_level(engine, negotiation)
        if negotiation is None or level is None:
            message = "the policies leave this declaration no level; declare again"
            raise RequestError(message, code="negotiation_expired")
        facts = RequestFacts(
            **negotiation.declared.declared(),
            method=wanted.method,
            route=rule.label,
            has_idempotency_key=True,
            has_correlation=True,
            has_expiry=True,
            via_proposal=rule.holds,
        )
        query = Query(
            principal=negotiation.principal, level=level, action=rule.action, resource=rule.resource, request=facts
        )
        decision = settle(engine, query)
        if not decision.allowed and all(each.id != "consent" for each in decision.obligations):
            _refuse(decision.reason or "the policies do not allow this", code="refused")
        if decision.allowed:
            _refuse("the policies ask for no consent here; send the request", code="consent_not_needed")
        if wanted.scope != "exact" and rule.resource.protected:
            _refuse("a protected operation is approved exactly as it runs", code="scope_not_allowed")
        if wanted.scope == "exact" and rule.stream_body:
            _refuse("the body of this route flows; ask for the scope template", code="scope_not_allowed")

    def _request(self, wanted: Wanted, rule: RouteRule, caller: Caller, authority: str) -> ConsentRequest:
        binding, body = _binding(wanted, rule, caller, authority), wanted.body
        request_id, now = self._ids.new(), self._clock.now()
        bound = binding.digest(BINDS_OF_SCOPE[wanted.scope])
        if wanted.expires_at is not None and wanted.expires_at <= now:
            _refuse("this time is over", code="consent_invalid", pointer="/expires_at")
        negotiation = caller.negotiation
        return ConsentRequest(
            request_id=request_id,
            subject=caller.identity.subject,
            agent_id=caller.identity.agent_id,
            negotiation_id=negotiation.negotiation_id if negotiation else "",
            action=rule.action,
            resource_type=rule.resource.type,
            resource=rule.resource.name,
            scope=wanted.scope,
            uses=wanted.uses,
            values=binding.values,
            digest=bound,
            body=body if body is not None and len(body) <= MAX_SHOWN_BODY_BYTES else b"",
            body_bytes=len(body) if body is not None else (-1 if wanted.body_sha256 else 0),
            reason=wanted.reason,
            correlation_id=wanted.correlation_id,
            match_code=match_code(request_id, bound),
            state=ConsentState.PENDING,
            created_at=now,
            expires_at=self._end(now, wanted.expires_at),
            not_after=wanted.expires_at,
        )

    def _end(self, now: datetime, not_after: datetime | None) -> datetime:
        """Return when a request of now stops waiting: nobody need decide what may not be done any more."""
        return min(filter(None, (now + self._terms.lifetime, not_after)))

    async def _own(self, request_id: str, presented: Presented) -> ConsentRequest:
        caller = await self._callers.resolve(presented, fresh=True)
        found = await self._store.read(lambda reader: reader.consents.get(request_id))
        if found is None or found.subject != caller.identity.subject:
            raise RequestError(_NOT_YOURS, code="not_found")
        return found

    async def _own_approval(self, approval_id: str, presented: Presented) -> tuple[Approval, ConsentRequest]:
        caller = await self._callers.resolve(presented, fresh=True)
        approval = await self._store.read(lambda reader: reader.approvals.get(approval_id))
        if approval is None or approval.subject != caller.identity.subject:
            raise RequestError(_NOT_YOURS, code="not_found")
        request = await self._store.read(lambda reader: reader.consents.get(approval.request_id))
        if request is None:
            raise RequestError(_NOT_YOURS, code="not_found")
        return approval, request

    def _shown(self, request: ConsentRequest) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "id": request.request_id,
            "status": request.state_at(self._clock.now()).value,
            "match_code": request.match_code,
            "expires_at": format_time(request.expires_at),
            "scope": request.scope,
        }
        return shown | {"approval_id": request.approval_id} if request.approval_id else shown


def rules_for(rules: Sequence[RouteRule], action: str, resource: str) -> list[RouteRule]:
    """Return the rules of that action upon the resource of that name."""
    return [rule for rule in rules if rule.action == action and rule.resource.name == resource]


def _refuse(message: str, *, code: str, pointer: str | None = None) -> NoReturn:
    raise RequestError(message, code=code, pointer=pointer)


def _takes(rule: RouteRule, method: str) -> bool:
    return not rule.methods or method in rule.methods or (method == "HEAD" and "GET" in rule.methods)


def _check_caller(caller: Caller, presented: Presented) -> None:
    """Raise where the caller may not ask.

    Raises:
        RequestError: `declaration_required`, `identity_required`, `idempotency_key_missing`.
    """
    checks: Sequence[tuple[bool, str, str]] = (
        (caller.negotiation is not None, "declaration_required", "declare first and send UAIX-Negotiation"),
        (bool(caller.identity.agent_id), "identity_required", "present the API token of a registered agent"),
        (bool(presented.idempotency_key), "idempotency_key_missing", "send Idempotency-Key"),
    )
    for holds, code, message in checks:
        if not holds:
            raise RequestError(message, code=code)


def _binding(wanted: Wanted, rule: RouteRule, caller: Caller, authority: str) -> Binding:
    """Return the values as the enforcement point will find them."""
    values: dict[str, Any] = {
        "principal": caller.identity.subject,
        "actor": caller.identity.operated_by,
        "action": rule.action,
        "resource": f"{rule.resource.type}:{rule.resource.name}",
        "authority": wanted.authority or authority,
        "method": wanted.method,
        "target": wanted.target,
        "content_type": wanted.content_type,
        "content_encoding": "",
        "site_account": wanted.site_account,
        "bound_headers": {name: wanted.bound_headers.get(name, "") for name in rule.bind_headers},
    }
    if not rule.stream_body:
        nothing = "" if rule.reads else sha256_hex(b"")
        if wanted.body_sha256 or wanted.scope == "exact":
            values["body"] = wanted.body_sha256 or nothing
    return Binding(values)


def _stored_as(tx: Tx, request: ConsentRequest) -> str:
    """Return the id under which `request` will wait: an equal one that waits already takes its place."""
    known = tx.consents.of_digests(request.subject, [request.digest])
    waits = known is not None and known.state_at(tx.now) is ConsentState.PENDING
    return known.request_id if known is not None and waits else request.request_id


def _taken(tx: Tx, taken: KeyUse, use: KeyUse) -> ConsentRequest:
    """Return what the first request with this key has filed.

    Raises:
        RequestError: `idempotency_mismatch`.
    """
    found = tx.consents.get(taken.decision_id) if taken.fingerprint == use.fingerprint else None
    if found is None:
        message = "this idempotency key was used for another request; take a new key for a new request"
        raise RequestError(message, code="idempotency_mismatch")
    return found


def _waiting(asked: Asked) -> ConsentRequest:
    """Return the request that waits.

    Raises:
        UnavailableError: `consent_denied`, `over_budget`.
    """
    if asked.request is None:
        message = _LIMITED[asked.code]
        raise UnavailableError(message, code=asked.code, retry_after_seconds=asked.retry_after_seconds)
    return asked.request
