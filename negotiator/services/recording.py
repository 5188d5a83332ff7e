"""How decisions become ledger entries: the members of each kind, in one place.

An entry holds everything that the decision depended on and nothing that a body said: facts, not contents.
Facts that have their zero value are left out (`model.facts.nonzero`). The member `claims` names what the transaction
made true beside the facts: ids and digests, never the token or the key itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from negotiator.model.decisions import Decision, Query
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.facts import ResourceFacts, nonzero
from negotiator.model.governed import GovernedRequest, Outcome, Presented, Verdict
from negotiator.model.levels import Level
from negotiator.model.obligations import Obligation
from negotiator.model.records import Closing, Intent, KeyUse, OutcomeEnd, Principal
from negotiator.services.callers import Caller

__all__ = [
    "claim_members",
    "decision_members",
    "interrupted_draft",
    "outcome_draft",
    "presented_members",
    "request_members",
    "undecided_members",
]


def decision_members(query: Query, decision: Decision, *, engine: str) -> dict[str, EntryValue]:
    """Return what Cedar was asked and what it answered.

    Args:
        query: the question of the recorded, last decision.
        decision: its answer.
        engine: name and version of the policy engine.
    """
    facts: dict[str, EntryValue] = {
        "principal": nonzero(query.principal),
        "resource": _resource_facts(query.resource),
        "request": nonzero(query.request),
    }
    if query.level is not None:
        facts["level"] = query.level.name
    members: dict[str, EntryValue] = {
        "decision": decision.decision,
        "code": decision.code,
        "principal": {"type": query.principal.entity_type, "id": query.principal.subject},
        "action": query.action,
        "resource": _resource(query.resource),
        "facts": facts,
        "policies": list(decision.policies),
        "obligations": [obligation.id for obligation in decision.obligations],
        "bundle_digest": decision.bundle_digest,
        "engine": engine,
    }
    if decision.errors:
        members["errors"] = [error[:500] for error in decision.errors[:10]]
    return members


def undecided_members(
    request: GovernedRequest,
    *,
    effect: str,
    code: str,
    principal: Principal | None,
    policy: str,
    obligations: Sequence[Obligation] = (),
) -> dict[str, EntryValue]:
    """Return the members of an answer that was given without asking Cedar, and by which rule.

    `principal` is None where nobody knows who it is; `policy` names the rule, and is empty where the request's form was
    at fault.
    """
    members: dict[str, EntryValue] = {
        "decision": effect,
        "code": code,
        "action": request.rule.action,
        "resource": _resource(request.rule.resource),
        "policies": [policy] if policy else [],
        "obligations": [obligation.id for obligation in obligations],
    }
    return members | {"principal": principal.as_json()} if principal else members


def request_members(request: GovernedRequest) -> dict[str, EntryValue]:
    """Return what is kept of the request itself: digests of what could be secret, never a body."""
    described: dict[str, EntryValue] = {
        "method": request.method,
        "route": request.rule.label,
        "target_sha256": request.target_sha256,
        "caller_class": request.caller_class,
    }
    if request.body_sha256:
        described |= {"body_sha256": request.body_sha256, "body_bytes": request.body_bytes}
    if request.content_type:
        described["content_type"] = request.content_type[:256]
    if request.socket:
        described["socket"] = True
    return {"request": described, **presented_members(request.presented)}


def presented_members(presented: Presented) -> dict[str, EntryValue]:
    """Return what ties an entry to other records of the caller: its trace, as received, and its correlation id."""
    ties = {
        "trace_id": presented.trace_id,
        "traceparent": presented.traceparent,
        "correlation_id": presented.correlation,
    }
    return {name: value for name, value in ties.items() if value}


def claim_members(caller: Caller, use: KeyUse | None = None, *, approval_id: str = "") -> dict[str, EntryValue]:
    """Return the member `claims`: the negotiation, credential, key, approval and evidence that were relied on."""
    relied_on: dict[str, EntryValue] = {
        "negotiation_id": caller.negotiation.negotiation_id if caller.negotiation else "",
        "credential_id": caller.identity.credential_id,
        "key_sha256": use.key_sha256 if use else "",
        "approval_id": approval_id,
        "evidence": caller.brought.ids,
    }
    claims: dict[str, EntryValue] = {name: value for name, value in relied_on.items() if value}
    return {"claims": claims} if claims else {}


def outcome_draft(verdict: Verdict, outcome: Outcome, closing: Closing, *, kept: bool) -> EntryDraft:
    """Return the entry that closes an intent.

    Args:
        verdict: what was allowed.
        outcome: how it ended.
        closing: what recording it does.
        kept: the answer is kept for the idempotency key.
    """
    members: dict[str, EntryValue] = {
        "decision_id": verdict.decision_id,
        "action": verdict.action,
        "end": outcome.end.value,
        "status": outcome.status,
        "bytes": outcome.body_bytes,
    }
    if outcome.body_sha256:
        members["body_sha256"] = outcome.body_sha256
    if outcome.traffic:
        members |= {"messages_in": outcome.traffic.messages_in, "messages_out": outcome.traffic.messages_out}
    if verdict.principal:
        members["principal"] = verdict.principal.as_json()
    if verdict.trace_id:
        members["trace_id"] = verdict.trace_id
    flags = {
        "late": closing is not Closing.FIRST,
        "settled_before": closing is Closing.CONTRADICTED,
        "answer_kept": kept,
        "site_not_called": not outcome.called,
    }
    members |= {name: True for name, holds in flags.items() if holds}
    return EntryDraft(kind=EntryKind.OUTCOME, members=members)


def interrupted_draft(intent: Intent) -> EntryDraft:
    """Return the entry that ends an intent whose process no longer stirs: nobody knows what became of the effect."""
    members: dict[str, EntryValue] = {
        "decision_id": intent.decision_id,
        "action": intent.action,
        "end": OutcomeEnd.INTERRUPTED.value,
        "principal": {"type": intent.principal_type, "id": intent.subject},
    }
    return EntryDraft(kind=EntryKind.OUTCOME, members=members)


def _resource(resource: ResourceFacts | Level) -> dict[str, EntryValue]:
    if isinstance(resource, Level):
        return {"type": "Level", "id": resource.name}
    return {"type": resource.type, "id": resource.name}


def _resource_facts(resource: ResourceFacts | Level) -> dict[str, EntryValue]:
    return {"number": int(resource)} if isinstance(resource, Level) else nonzero(resource)
