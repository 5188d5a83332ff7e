"""The decision point: questions in, answers out, under one bundle.

Rules:

- Anything that goes wrong denies: an error while evaluating, no decision, facts that Cedar does not take, an action
  that does not apply. No question raises.
- A batch asks each distinct set of policies once, over one set of entities.
- An answer is a pure function of bundle and facts, so it may be remembered; one with errors is not.
- An engine that cannot deny is not made: the self-test asks the live entities, in the way of requests.

It does not: look at clocks, credentials or consent ids; whoever acts on an answer makes its claims true first.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import cedarpy

from negotiator.errors import PolicyError, quoted
from negotiator.model.decisions import Decision, Query
from negotiator.model.levels import Level
from negotiator.policy.answers import Answers, Verdict
from negotiator.policy.bundle import Bundle
from negotiator.policy.entities import Ground, Population
from negotiator.policy.policies import policy_set
from negotiator.policy.probes import probes
from negotiator.policy.slices import Place, Slice, Slices

__all__ = ["DEFAULT_PROJECT", "Engine"]

DEFAULT_PROJECT = "default"
_Asked: TypeAlias = tuple[Query, Slice]
_Request: TypeAlias = dict[str, Any]

_ORDINAL = re.compile(r'(\bRequest::)"\d+"')
"""A request's place in its batch, as Cedar's errors name it; the same question has the same error wherever it stood."""


class Engine:
    """Decides under one bundle. Safe to share between threads.

    Args:
        bundle: a loaded bundle.
        name: the name and version under which decisions are recorded.
        project: the project that agents and resources belong to.
        cache_size: how many answers are remembered; 0 remembers none.
        ground: the entities to stand on; by default built from the bundle's schema.

    Raises:
        PolicyError: `self_test_failed`, if the live entities do not let a forbid match.
    """

    def __init__(
        self,
        bundle: Bundle,
        *,
        name: str = "cedarpy",
        project: str = DEFAULT_PROJECT,
        cache_size: int = 4096,
        ground: Ground | None = None,
    ) -> None:
        self.bundle = bundle
        self.name = name
        self._ground = ground or Ground(bundle.schema, project=project)
        self._slices = Slices(bundle)
        self._answers = Answers(bundle)
        self._remembered: deque[Place] = deque()
        self._cache_size = cache_size
        self._lock = threading.Lock()
        self._test_itself()

    @property
    def ground(self) -> Ground:
        """What every question stands on."""
        return self._ground

    def applies(self, action: str, resource_type: str) -> bool:
        """Whether agents may ask `action` upon a resource of that type at all; route rules must."""
        return self.bundle.vocabulary.applies(action, resource_type)

    def decide(self, query: Query) -> Decision:
        """Return the answer to one question. Never raises; what goes wrong is a deny."""
        return self.decide_all((query,))[0]

    def decide_all(self, queries: Sequence[Query], *, capping: bool = False) -> list[Decision]:
        """Return the answers to several questions, in their order.

        Args:
            queries: any questions; equal facts become one entity.
            capping: leave out the forbids that carry `@finding`.
        """
        places = self._slices.places(queries, capping=capping)
        answers = [place[0].answers.get(place[1]) if place else None for place in places]
        return cast("list[Decision]", answers) if all(answers) else self._completed(queries, places, answers)

    def decide_for_site(self, action: str) -> Decision:
        """Return whether the site itself may do `action` upon its project. Never raises; what goes wrong is a deny.

        Every policy is asked, and nothing is remembered: this is rare.
        """
        population = Population(self._ground.project)
        request = population.add_site(action)
        try:
            entities = self._ground.with_facts(population.entities())
            handle = policy_set(list(self.bundle.policies.values()))
            verdict = _verdict(cedarpy.is_authorized_batch([request], handle, entities)[0])
        except (ValueError, TypeError) as problem:
            verdict = Verdict(allowed=False, reasons=(), errors=(f"facts not taken: {quoted(problem)}",))
        return self._answers.answer(verdict)

    def _completed(
        self, queries: Sequence[Query], places: Sequence[Place | None], answers: Sequence[Decision | None]
    ) -> list[Decision]:
        """Return the answers with those that are missing: each distinct question is asked once."""
        missing = {
            place: (query, place[0])
            for place, query, known in zip(places, queries, answers, strict=True)
            if place and not known
        }
        verdicts = self._ask(list(missing.values()))
        fresh = {place: self._answers.answer(verdict) for place, verdict in zip(missing, verdicts, strict=True)}
        self._remember(fresh)
        return [
            known or (fresh[place] if place else self._inapplicable(query))
            for known, place, query in zip(answers, places, queries, strict=True)
        ]

    def _remember(self, fresh: Mapping[Place, Decision]) -> None:
        """Keep answers without errors; the oldest go when there are too many."""
        with self._lock:
            for place, decision in fresh.items():
                if not decision.errors:
                    place[0].answers[place[1]] = decision
                    self._remembered.append(place)
            while len(self._remembered) > self._cache_size:
                part, key = self._remembered.popleft()
                part.answers.pop(key, None)

    def _ask(self, asked: Sequence[_Asked]) -> list[Verdict]:
        """Put questions to Cedar, over as few sets of entities as their facts allow."""
        verdicts: dict[int, Verdict] = {}
        waiting = list(range(len(asked)))
        while waiting:
            population = Population(self._ground.project)
            requests = {place: request for place in waiting if (request := population.add(asked[place][0]))}
            verdicts |= self._evaluate(population, asked, requests)
            waiting = [place for place in waiting if place not in requests]
        return [verdicts[place] for place in range(len(asked))]

    def _evaluate(
        self, population: Population, asked: Sequence[_Asked], requests: Mapping[int, _Request]
    ) -> dict[int, Verdict]:
        """Return the verdicts on `requests`, by place.

        INVARIANT: this boundary fails closed. Facts that Cedar does not take become a verdict with an error, and
        never drag the neighbours of their batch along.
        """
        verdicts: dict[int, Verdict] = {}
        try:
            entities = self._ground.with_facts(population.entities())
            for handle, places in _by_handle(asked, requests):
                results = cedarpy.is_authorized_batch([requests[place] for place in places], handle, entities)
                verdicts |= zip(places, map(_verdict, results), strict=True)
        except (ValueError, TypeError) as problem:
            if len(requests) == 1:
                error = f"facts not taken: {quoted(problem)}"
                return dict.fromkeys(requests, Verdict(allowed=False, reasons=(), errors=(error,)))
            return {place: self._ask([asked[place]])[0] for place in requests}
        return verdicts

    def _inapplicable(self, query: Query) -> Decision:
        kind = "Level" if isinstance(query.resource, Level) else query.resource.type
        who = "an Agent" if query.principal.entity_type == "Agent" else "a Human"
        error = f"{quoted(query.action)} does not apply to {who} and a {kind}"
        return self._answers.answer(Verdict(allowed=False, reasons=(), errors=(error,)))

    def _test_itself(self) -> None:
        tests = list(probes(self.bundle.vocabulary))
        verdicts = self._ask([(test.query, test.slice) for test in tests])
        failed = [
            f"{test.describe()}{''.join(f' ({error})' for error in verdict.errors)}"
            for test, verdict in zip(tests, verdicts, strict=True)
            if verdict.errors or verdict.allowed != test.allowed
        ]
        if failed:
            message = f"the engine does not decide as it must: {failed[0]}; {len(failed)} of {len(tests)} probes failed"
            raise PolicyError(message, code="self_test_failed")


def _by_handle(asked: Sequence[_Asked], places: Iterable[int]) -> Iterable[tuple[cedarpy.PolicySet, list[int]]]:
    """Return each distinct set of policies with the places of the questions that it answers."""
    groups: dict[int, tuple[cedarpy.PolicySet, list[int]]] = {}
    for place in places:
        handle = asked[place][1].handle
        groups.setdefault(id(handle), (handle, []))[1].append(place)
    return groups.values()


def _verdict(result: cedarpy.AuthzResult) -> Verdict:
    diagnostics = result.diagnostics
    errors = [_ORDINAL.sub(r'\1"-"', error) for error in diagnostics.errors]
    if result.decision is cedarpy.Decision.NoDecision and not errors:
        errors = ["no decision"]
    return Verdict(allowed=result.allowed, reasons=diagnostics.reasons, errors=errors)
