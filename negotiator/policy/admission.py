"""Admission: what level a declaration is given, and what is wrong with it.

Rules:

- `declare` is asked on the declared level first. There a forbid with `@finding` refuses the declaration, and wins
  over every other reason.
- Otherwise the level is the first one, from the declared one downwards, that is allowed. Below the declared level
  the forbids with `@finding` are left out: they judge the declaration, not the level.
- Why a level was capped is the finding `level_capped`, with the remedies and obligations of every level refused.
- `advise` is asked once, on the declared level, whatever became of it; its forbids are warnings.
- An error refuses. The effective level is None then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from negotiator.model.decisions import Admission, Decision, Query
from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.findings import Finding, Severity
from negotiator.model.levels import Level
from negotiator.policy.answers import NO_PERMIT, obligations
from negotiator.policy.engine import Engine
from negotiator.policy.expressions import reads
from negotiator.policy.policies import Policy
from negotiator.policy.vocabulary import ADVISE, DECLARE

__all__ = ["POSTED", "admit", "level_of"]

POSTED: Mapping[str, Any] = MappingProxyType({"has_idempotency_key": True, "has_correlation": True, "has_expiry": True})
"""What is taken to be so of a message that was accepted: it had what its level asks of messages."""

_LEVEL_POINTER = "/body/client_level"


def admit(engine: Engine, principal: AgentFacts, request: RequestFacts, pointers: Mapping[str, str]) -> Admission:
    """Decide a declaration.

    Args:
        engine: the decision point.
        principal: who declares, and what.
        request: the facts of the posted message.
        pointers: fact to the place in the message that decided it; else the policy's `@pointer` counts.

    Returns:
        The admission. Its `decision` is the answer at the declared level, unless a lower one was given or asked last.
    """
    declared = Level(principal.declared_level)
    first, advice = engine.decide_all(
        [_query(principal, request, DECLARE, declared), _query(principal, request, ADVISE, declared)]
    )
    warnings = _findings(advice, engine, pointers, Severity.WARNING)
    faults = _findings(first, engine, pointers, Severity.ERROR)
    if faults or first.errors:
        return Admission(effective=None, findings=(*faults, *warnings), obligations=(), decision=first)
    if first.allowed:
        return Admission(effective=declared, findings=warnings, obligations=(), decision=first)
    return _capped(engine, principal, request, first, warnings)


def level_of(engine: Engine, principal: AgentFacts, request: RequestFacts) -> Level | None:
    """Return the level that the policies leave to an agent whose declaration was accepted; None for none.

    Args:
        engine: the decision point.
        principal: the agent, with the level that it declared.
        request: the facts of its declaration.
    """
    return _descend(engine, principal, request, principal.declared_level).level


@dataclass(frozen=True, slots=True)
class _Descent:
    level: Level | None
    decision: Decision | None
    refused: tuple[Decision, ...]


def _descend(engine: Engine, principal: AgentFacts, request: RequestFacts, start: int) -> _Descent:
    """Ask for each level from `start` downwards; the first that is allowed ends it, and so does an error."""
    levels = [Level(number) for number in range(start, -1, -1)]
    queries = [_query(principal, request, DECLARE, level) for level in levels]
    refused: list[Decision] = []
    for level, decision in zip(levels, engine.decide_all(queries, capping=True), strict=True):
        if decision.allowed:
            return _Descent(level, decision, tuple(refused))
        refused.append(decision)
        if decision.errors:
            break
    return _Descent(None, refused[-1] if refused else None, tuple(refused))


def _capped(
    engine: Engine, principal: AgentFacts, request: RequestFacts, first: Decision, warnings: tuple[Finding, ...]
) -> Admission:
    descent = _descend(engine, principal, request, principal.declared_level - 1)
    policies = engine.bundle.policies
    named = {reason for decision in (first, *descent.refused) for reason in decision.policies}
    reasons = sorted(named & policies.keys())
    why = [policies[reason] for reason in reasons]
    capped = () if descent.level is None else (_level_capped(principal, descent.level, why),)
    return Admission(
        effective=descent.level,
        findings=(*capped, *warnings),
        obligations=obligations(reasons, policies),
        decision=descent.decision or first,
    )


def _level_capped(principal: AgentFacts, level: Level, reasons: Sequence[Policy]) -> Finding:
    declared = Level(principal.declared_level)
    why = "; ".join(policy.title for policy in reasons) or "no policy permits it"
    return Finding(
        code="level_capped",
        severity=Severity.INFO,
        pointer=_LEVEL_POINTER,
        message=f"{declared.name} was declared and {level.name} is given: {why}",
        remedy="; ".join(dict.fromkeys(remedy for policy in reasons if (remedy := policy.note("remedy")))),
        source=reasons[0].source if reasons else f"policy:{NO_PERMIT}",
    )


def _findings(
    decision: Decision, engine: Engine, pointers: Mapping[str, str], severity: Severity
) -> tuple[Finding, ...]:
    """Return what the forbids with `@finding` among a denial's reasons have to say."""
    if decision.allowed or decision.errors:
        return ()
    policies = (engine.bundle.policies.get(reason) for reason in decision.policies)
    return tuple(
        Finding(
            code=code,
            severity=severity,
            pointer=_pointer(policy, pointers),
            message=policy.title,
            remedy=policy.note("remedy"),
            source=policy.source,
        )
        for policy in policies
        if policy and (code := policy.note("finding"))
    )


def _pointer(policy: Policy, pointers: Mapping[str, str]) -> str:
    """Return the place that decided one of the facts that the policy reads; else the policy's own `@pointer`."""
    read = sorted(reads(policy.body).request & pointers.keys())
    return pointers[read[0]] if read else policy.note("pointer")


def _query(principal: AgentFacts, request: RequestFacts, action: str, level: Level) -> Query:
    return Query(principal=principal, level=None, action=action, resource=level, request=request)
