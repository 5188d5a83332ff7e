"""Slices: for each question the policies that can matter to it, and the facts that those policies read.

Rules:

- A policy is in the slice of an action if its action scope is unconstrained, is that action, or is a group above it.
- A policy whose principal or resource scope asks for another type, or for another resource by name, is left out.
- What is left out could neither match nor err: a slice answers like the whole set in decision, reasons and errors.
- Questions with the same policies share one handle.
- A cache key holds the action, the level, and every fact that the slice reads, of a person all facts; nothing else,
  so no secret, no consent's id and no time.

Source: a law (`tests/laws/test_policy_slices.py`) holds slices to the whole set.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeAlias

import cedarpy

from negotiator.model.decisions import Decision, Query
from negotiator.model.facts import AgentFacts, HumanFacts, RequestFacts, ResourceFacts
from negotiator.policy.bundle import Bundle
from negotiator.policy.expressions import EVERYTHING, Reads, reads, scope_constant
from negotiator.policy.policies import Policy, policy_set

__all__ = ["Key", "Place", "Slice", "Slices"]

Key: TypeAlias = Hashable
Place: TypeAlias = "tuple[Slice, Key]"
"""Where an answer is remembered."""

_Who: TypeAlias = "type[AgentFacts | HumanFacts]"
_Kind: TypeAlias = "tuple[str, _Who, str, bool]"
"""Action, facts of the principal, type of the resource, and whether forbids with `@finding` are left out."""

_LEVEL = ("Level", "")
_HUMAN = tuple(sorted(f.name for f in fields(HumanFacts)))
_FIELDS: Mapping[str, frozenset[str]] = {
    "principal": frozenset(f.name for f in fields(AgentFacts)),
    "resource": frozenset(f.name for f in fields(ResourceFacts)),
    "request": frozenset(f.name for f in fields(RequestFacts)) - {"tags"},
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slice:
    """The policies for one kind of question.

    Attributes:
        ids: their ids, in the bundle's order.
        handle: Cedar's set of them, shared between slices of the same ids.
        facts: returns the facts of a question that its policies read.
        tags: the names of the tags that they read; `EVERYTHING` among them for all.
        answers: what is remembered, by key. Bundle, action, type and name of the resource are those of the slice.
    """

    ids: tuple[str, ...]
    handle: cedarpy.PolicySet
    facts: Callable[[Query], Key]
    tags: tuple[str, ...] = ()
    answers: dict[Key, Decision] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Family:
    """The slices of one action upon one type of resource: for names that policies single out, and for the rest."""

    named: dict[str, Slice]
    unmade: set[str]
    rest: Slice


class Slices:
    """The slices of one bundle. Thread-safe: what is missing is made once, under a lock."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._reads = {policy.id: reads(policy.body) for policy in bundle.policies.values()}
        self._handles: dict[tuple[str, ...], cedarpy.PolicySet] = {}
        self._getters: dict[tuple[str, ...], Callable[[Query], Key]] = {}
        self._families: dict[_Kind, _Family] = {}
        self._lock = threading.Lock()

    def places(self, queries: Iterable[Query], *, capping: bool = False) -> list[Place | None]:
        """Return the slice and the key of each question; None where its action does not apply to its resource's type.

        One loop without calls of ours: this is most of what a remembered answer costs.

        Args:
            queries: what is asked.
            capping: without the forbids that carry `@finding`.
        """
        families = self._families
        places: list[Place | None] = []
        for query in queries:
            resource = query.resource
            kind, name = (resource.type, resource.name) if isinstance(resource, ResourceFacts) else _LEVEL
            family = families.get((query.action, type(query.principal), kind, capping))
            if family is None or name in family.unmade:
                family = self._made((query.action, type(query.principal), kind, capping), name)
            if family is None:
                places.append(None)
                continue
            part = family.named.get(name) or family.rest
            key = part.facts(query)
            if part.tags and query.request.tags:
                key = (key, _tags(query.request.tags, part.tags))
            places.append((part, key))
        return places

    def _made(self, place: _Kind, name: str) -> _Family | None:
        """Return the family with the slice for `name` in it, made at most once; None if it does not apply."""
        action, who, kind, _ = place
        if not self._bundle.vocabulary.applies(action, kind, who.entity_type):
            return None
        with self._lock:
            candidates = self._candidates(place)
            family = self._families.get(place)
            if family is None:
                names = {one for policy in candidates if (one := _name(policy, kind)) is not None}
                rest = self._slice(who, kind, [policy for policy in candidates if _name(policy, kind) is None])
                family = self._families[place] = _Family({}, names, rest)
            if name in family.unmade:
                chosen = [one for one in candidates if _name(one, kind) in {None, name}]
                family.named[name] = self._slice(who, kind, chosen)
                family.unmade.discard(name)
            return family

    def _candidates(self, place: _Kind) -> list[Policy]:
        action, who, kind, capping = place
        return [
            policy
            for policy in self._bundle.policies.values()
            if self._covers(policy, action)
            and _suits(policy, who.entity_type, kind)
            and not (capping and "finding" in policy.annotations)
        ]

    def _covers(self, policy: Policy, action: str) -> bool:
        scope = policy.body["action"]
        if scope["op"] == "All":
            return True
        named = [scope["entity"]] if "entity" in scope else scope["entities"]
        shape = self._bundle.vocabulary.actions[action]
        return any(entity["id"] == action or entity["id"] in shape.groups for entity in named)

    def _slice(self, who: _Who, kind: str, policies: Sequence[Policy]) -> Slice:
        ids = tuple(policy.id for policy in policies)
        if ids not in self._handles:
            self._handles[ids] = policy_set(policies)
        whole = Reads.union(self._reads[one] for one in ids)
        paths = tuple(_paths(who, kind, whole))
        return Slice(
            ids=ids,
            handle=self._handles[ids],
            facts=self._getters.setdefault(paths, attrgetter(*paths)),
            tags=tuple(sorted(whole.tags)),
        )


def _suits(policy: Policy, who: str, kind: str) -> bool:
    """Whether the scopes of principal and resource let those types of principal and resource pass."""
    asked, _ = scope_constant(policy.body["principal"])
    wanted, constant = scope_constant(policy.body["resource"])
    named = constant[0] if constant and constant[0] != "Project" else kind
    return asked in {"", who} and wanted in {"", kind} and named == kind


def _name(policy: Policy, kind: str) -> str | None:
    """Return the one resource name that the policy's scope lets pass; None for any.

    Our resources have no parents beside the project, so `resource in X` lets X itself pass and nothing else. Levels
    have: they are left to Cedar.
    """
    _, constant = scope_constant(policy.body["resource"])
    return constant[1] if constant and constant[0] == kind != "Level" else None


def _paths(who: _Who, kind: str, whole: Reads) -> Iterator[str]:
    """Yield attribute paths below a query, only of facts that exist: others are absent from every question."""
    yield "level"
    if kind == "Level":
        yield "resource"
    if who is HumanFacts:
        yield from (f"principal.{name}" for name in _HUMAN)
    for root, wanted in (("principal", whole.principal), ("resource", whole.resource), ("request", whole.request)):
        if (root != "resource" or kind != "Level") and (root != "principal" or who is AgentFacts):
            known = _FIELDS[root]
            yield from (f"{root}.{name}" for name in sorted(known if EVERYTHING in wanted else known & wanted))


def _tags(tags: Mapping[str, str], wanted: tuple[str, ...]) -> Key:
    if EVERYTHING in wanted:
        return tuple(sorted(tags.items()))
    return tuple(map(tags.get, wanted))
