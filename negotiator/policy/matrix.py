"""The matrix: what an agent may do at this site, action by action, and what it would take.

Rules:

- The eleven agents' actions are asked over the configured targets; `promote_memory` is never asked and always refused.
- Nothing of the own request is assumed: no key, correlation, expiry, consent or evidence. The rounds say what each
  target needs.
- An action without a target is asked upon `-` and says `unrouted`.
- A memory write that we hold is asked as a proposal, and answers 202.
- An action's own answer is its most favourable target's; where targets differ, `resources` lists each.
- It is never wider than the level and the declared facts together: both are in every question (CAP-22).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from negotiator.model.actions import AGENT_ACTIONS, HUMAN_ONLY_ACTION
from negotiator.model.decisions import Decision, Query
from negotiator.model.facts import AgentFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.model.obligations import Obligation
from negotiator.model.routes import RouteRule
from negotiator.policy.admission import level_of
from negotiator.policy.engine import Engine
from negotiator.policy.rounds import Settlement, settle_all

__all__ = ["HUMAN_ONLY", "ActionAnswer", "Matrix", "ResourceAnswer", "Status", "Target", "negotiate", "surface_of"]

Status = Literal["allowed", "conditional", "refused"]

HUMAN_ONLY = "human-only"

_RANK: Mapping[Status, int] = {"allowed": 0, "conditional": 1, "refused": 2}
_ACCEPTED = 202


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One place where an action can be asked.

    Attributes:
        method: upper-case; empty where the rule takes any.
        route: the rule's path.
        held: an allowed request becomes a proposal instead of reaching the site.
    """

    action: str
    resource: ResourceFacts
    method: str = ""
    route: str = ""
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAnswer:
    """What holds for one resource."""

    status: Status
    obligations: tuple[Obligation, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the interface members."""
        return {"status": self.status, "obligations": [obligation.as_json() for obligation in self.obligations]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionAnswer:
    """What holds for one action.

    Attributes:
        status: `allowed` now; `conditional` on the obligations; or `refused`.
        answer: the status of the answer where it is not the site's; 0 otherwise.
        resources: by name, only where they differ.
    """

    status: Status
    obligations: tuple[Obligation, ...] = ()
    policies: tuple[str, ...]
    reason: str = ""
    remedy: str = ""
    fallback: str = ""
    unrouted: bool = False
    answer: int = 0
    resources: Mapping[str, ResourceAnswer] = field(default_factory=lambda: MappingProxyType({}))

    def as_json(self) -> dict[str, Any]:
        """Return the interface members; those that say nothing are left out."""
        optional = {
            "remedy": self.remedy,
            "unrouted": self.unrouted,
            "answer": self.answer,
            "resources": {name: answer.as_json() for name, answer in self.resources.items()},
        }
        return {
            "status": self.status,
            "obligations": [obligation.as_json() for obligation in self.obligations],
            "policies": list(self.policies),
            "reason": self.reason,
            "fallback": self.fallback,
        } | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The answers for every action, in the order of a negotiation.

    Attributes:
        exhausted: actions whose rounds the bound ended: a fault of the bundle.
    """

    actions: Mapping[str, ActionAnswer]
    exhausted: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the member `actions` of a negotiation."""
        return {name: answer.as_json() for name, answer in self.actions.items()}


_REFUSED_TO_AGENTS = ActionAnswer(
    status="refused",
    policies=(HUMAN_ONLY,),
    reason="only people promote memory",
    fallback="file a memory proposal; a person reviews and promotes it",
)


def surface_of(rules: Iterable[RouteRule]) -> tuple[Target, ...]:
    """Return the targets of route rules: one for each method that a rule names, or one for any."""
    return tuple(
        Target(
            action=rule.action,
            resource=rule.resource,
            method=method,
            route=rule.path,
            held=rule.holds,
        )
        for rule in rules
        for method in (sorted(rule.methods) or [""])
    )


def negotiate(
    engine: Engine, *, principal: AgentFacts, level: Level, request: RequestFacts, surface: Sequence[Target]
) -> Matrix:
    """Return what an admitted agent may do over `surface`.

    Args:
        engine: the decision point.
        principal: the agent as it declared itself.
        level: its effective level.
        request: the facts of the posted message, as its admission was decided with.
        surface: the configured targets.
    """
    routed = {target.action for target in surface}
    targets = [*surface, *(_unrouted(action, engine) for action in AGENT_ACTIONS if action not in routed)]
    queries = [_query(principal, level, request, target) for target in targets]
    relevel = cache(lambda changed: level_of(engine, changed, request))  # one answer serves every target
    settlements = settle_all(engine, queries, relevel)
    settled = list(zip(targets, settlements, strict=True))
    actions = {
        action: _answer([cell for cell in settled if cell[0].action == action], unrouted=action not in routed)
        for action in AGENT_ACTIONS
    }
    return Matrix(
        actions=MappingProxyType(actions | {HUMAN_ONLY_ACTION: _REFUSED_TO_AGENTS}),
        exhausted=tuple(sorted({target.action for target, settlement in settled if settlement.exhausted})),
    )


def _unrouted(action: str, engine: Engine) -> Target:
    kind: Literal["Resource", "Tool"] = "Resource" if engine.applies(action, "Resource") else "Tool"
    return Target(action=action, resource=ResourceFacts(type=kind))


def _query(principal: AgentFacts, level: Level, request: RequestFacts, target: Target) -> Query:
    own = RequestFacts(**request.declared(), method=target.method, route=target.route, via_proposal=target.held)
    return Query(principal=principal, level=level, action=target.action, resource=target.resource, request=own)


def _answer(cells: Sequence[tuple[Target, Settlement]], *, unrouted: bool) -> ActionAnswer:
    """Return an action's answer from its targets, the most favourable first."""
    ranked = sorted(cells, key=lambda cell: _favour(cell[1].decision))
    target, best = ranked[0]
    resources: dict[str, ResourceAnswer] = {}
    for other, settlement in reversed(ranked):
        resources[other.resource.name] = _for_resource(settlement.decision)
    differ = len({(answer.status, answer.obligations) for answer in resources.values()}) > 1
    decision = best.decision
    return ActionAnswer(
        status=_status(decision),
        obligations=decision.obligations,
        policies=decision.policies,
        reason=decision.reason,
        remedy=decision.remedy,
        fallback=decision.fallback,
        unrouted=unrouted,
        answer=_ACCEPTED if target.held else 0,
        resources=MappingProxyType(dict(sorted(resources.items())) if differ else {}),
    )


def _for_resource(decision: Decision) -> ResourceAnswer:
    return ResourceAnswer(status=_status(decision), obligations=decision.obligations)


def _favour(decision: Decision) -> tuple[int, int]:
    return _RANK[_status(decision)], len(decision.obligations)


def _status(decision: Decision) -> Status:
    if decision.allowed:
        return "allowed"
    return "conditional" if decision.obligations else "refused"
