"""Who may approve: `approve_consent`, asked of a person about an agent's request.

Rules:

- The same policies, entities and schema as for agents' requests; anything that goes wrong denies.
- A pure function of the bundle and the facts, so the last answers are remembered; one with errors is not.

It does not: know sessions. Whoever makes an `Approver` has checked one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

import cedarpy

from negotiator.errors import quoted
from negotiator.model.approvers import Approver
from negotiator.model.decisions import Decision
from negotiator.model.facts import AgentFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.policy.answers import Answers, Verdict
from negotiator.policy.bundle import Bundle
from negotiator.policy.engine import Engine
from negotiator.policy.entities import APPROVE_CONSENT, Population
from negotiator.policy.policies import Policy, policy_set

__all__ = ["Approving"]

_REMEMBERED = 1024


class Approving:
    """Asks who may approve. Safe to share between threads.

    Args:
        engine: decides; its bundle's policies on `approve_consent` are read once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._answers = Answers(engine.bundle)
        self._handle = policy_set(
            [policy for policy in engine.bundle.policies.values() if _covers(policy, engine.bundle)]
        )
        self._remembered: OrderedDict[Hashable, Decision] = OrderedDict()
        self._lock = Lock()

    def decide(
        self, approver: Approver, resource: ResourceFacts, *, requester: AgentFacts, level: Level | None, action: str
    ) -> Decision:
        """Return whether `approver` may approve that `requester` does `action` upon `resource`. Never raises.

        Args:
            approver: the person, with the assurance of the session.
            resource: as it is configured now.
            requester: the agent that asked, with the person who runs it.
            level: its effective level; None where it has none any more.
            action: what it asked to do.
        """
        key = (approver, resource, requester, level, action)
        with self._lock:
            known = self._remembered.get(key)
        if known is not None:
            return known
        decision = self._answers.answer(self._asked(approver, resource, requester, level, action))
        if not decision.errors:
            with self._lock:
                self._remembered[key] = decision
                while len(self._remembered) > _REMEMBERED:
                    self._remembered.popitem(last=False)
        return decision

    def _asked(
        self, approver: Approver, resource: ResourceFacts, requester: AgentFacts, level: Level | None, action: str
    ) -> Verdict:
        """Put the question to Cedar.

        INVARIANT: fails closed. Facts that Cedar does not take become a verdict with an error.
        """
        try:
            population = Population(self._engine.ground.project)
            request = population.add_approving(approver, resource, requester=requester, level=level, action=action)
            entities = self._engine.ground.with_facts(population.entities())
            [result] = cedarpy.is_authorized_batch([request], self._handle, entities, self._engine.bundle.schema)
        except (ValueError, TypeError) as problem:
            return Verdict(allowed=False, reasons=(), errors=(f"facts not taken: {quoted(problem)}",))
        errors = list(result.diagnostics.errors)
        if result.decision is cedarpy.Decision.NoDecision and not errors:
            errors = ["no decision"]
        return Verdict(allowed=result.allowed, reasons=result.diagnostics.reasons, errors=errors)


def _covers(policy: Policy, bundle: Bundle) -> bool:
    scope = policy.body["action"]
    if scope["op"] == "All":
        return True
    named = [scope["entity"]] if "entity" in scope else scope["entities"]
    shape = bundle.vocabulary.actions.get(APPROVE_CONSENT)
    groups = shape.groups if shape else frozenset()
    return any(entity["id"] == APPROVE_CONSENT or entity["id"] in groups for entity in named)
