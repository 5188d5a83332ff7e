"""What a schema says of actions: their groups, and who may ask each upon what.

Rules:

- The hierarchy of actions is read from the action entities that Cedar itself makes of the schema.
- What an action applies to is found by asking Cedar: each pair of types goes through its request validation. So
  this table and Cedar cannot differ.
- A schema extends the vocabulary of this product and drops none of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import cedarpy

from negotiator.model.actions import (
    AGENT_ACTIONS,
    HUMAN_ONLY_ACTION,
    MEMORY_ACTIONS,
    READ_ACTIONS,
    WRITE_LIKE_ACTIONS,
)

__all__ = ["ADVISE", "DECLARE", "NAMESPACE", "ActionShape", "Vocabulary", "missing_words", "read_vocabulary", "uid"]

NAMESPACE = "Uaix::"
DECLARE = "declare"
ADVISE = "advise"

PRINCIPAL_TYPES = ("Agent", "Human", "Site")
RESOURCE_TYPES = ("Resource", "Tool", "MemoryRecord", "Package", "Level", "Project")

_GROUPS: Mapping[str, frozenset[str]] = {
    "read": READ_ACTIONS,
    "write_like": WRITE_LIKE_ACTIONS,
    "memory": MEMORY_ACTIONS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionShape:
    """One action of the schema.

    Attributes:
        groups: every action above it, directly or not.
        principals, resources: entity types without namespace; both empty for a mere group.
    """

    groups: frozenset[str]
    principals: tuple[str, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The actions of a schema, by name without namespace."""

    actions: Mapping[str, ActionShape]

    def applies(self, action: str, resource_type: str, principal_type: str = "Agent") -> bool:
        """Whether the schema lets a principal of that type ask `action` upon a resource of that type."""
        shape = self.actions.get(action)
        return shape is not None and principal_type in shape.principals and resource_type in shape.resources

    def members(self, group: str) -> list[str]:
        """Return the actions below `group`, sorted."""
        return sorted(name for name, shape in self.actions.items() if group in shape.groups)

    def groups(self) -> list[str]:
        """Return the actions that others are below, sorted."""
        return sorted(set().union(*(shape.groups for shape in self.actions.values())))


def uid(entity_type: str, entity_id: str) -> dict[str, str]:
    """Return a Cedar reference. Built as data: a reference written as text breaks on quotes and controls."""
    return {"type": f"{NAMESPACE}{entity_type}", "id": entity_id}


def read_vocabulary(schema: cedarpy.Schema) -> Vocabulary:
    """Return the actions that `schema` defines in our namespace."""
    parents = _parents(schema)
    applies = _applies(schema, sorted(parents))
    shapes = {
        name: ActionShape(
            groups=frozenset(_above(name, parents)),
            principals=tuple(kind for kind in PRINCIPAL_TYPES if any(p == kind for p, _ in applies[name])),
            resources=tuple(kind for kind in RESOURCE_TYPES if any(r == kind for _, r in applies[name])),
        )
        for name in sorted(parents)
    }
    return Vocabulary(shapes)


def missing_words(vocabulary: Vocabulary) -> list[str]:
    """Say which actions and memberships, on which routes and policies rely, a schema lacks."""
    known = vocabulary.actions
    needed = (*AGENT_ACTIONS, HUMAN_ONLY_ACTION, DECLARE, ADVISE, *_GROUPS)
    lacking = [f"action {name} is not defined" for name in needed if name not in known]
    for group, members in _GROUPS.items():
        strays = sorted(name for name in members if name in known and group not in known[name].groups)
        lacking += [f"action {name} is not in {group}" for name in strays]
    return lacking


def _parents(schema: cedarpy.Schema) -> dict[str, list[str]]:
    entities = json.loads(str(cedarpy.Entities.from_json_str("[]", schema)))
    action_type = f"{NAMESPACE}Action"
    return {
        entity["uid"]["id"]: [parent["id"] for parent in entity["parents"] if parent["type"] == action_type]
        for entity in entities
        if entity["uid"]["type"] == action_type
    }


def _above(name: str, parents: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield every ancestor, whether Cedar gives the parents closed over or direct. It refuses cycles."""
    waiting, seen = list(parents.get(name, ())), set[str]()
    while waiting:
        parent = waiting.pop()
        if parent not in seen:
            seen.add(parent)
            waiting += parents.get(parent, ())
            yield parent


def _applies(schema: cedarpy.Schema, actions: list[str]) -> dict[str, set[tuple[str, str]]]:
    """Return per action the pairs of types that Cedar's request validation lets pass."""
    pairs = [(a, p, r) for a in actions for p in PRINCIPAL_TYPES for r in RESOURCE_TYPES]
    context = json.dumps({"request": {"__entity": uid("Request", "-")}})
    requests = [
        {"principal": uid(p, "-"), "action": uid("Action", a), "resource": uid(r, "-"), "context": context}
        for a, p, r in pairs
    ]
    anything = cedarpy.PolicySet.from_str("permit (principal, action, resource);")
    answers = cedarpy.is_authorized_batch(requests, anything, cedarpy.Entities.from_json_str("[]"), schema)
    found: dict[str, set[tuple[str, str]]] = {action: set() for action in actions}
    for (action, principal, resource), answer in zip(pairs, answers, strict=True):
        if answer.allowed:
            found[action].add((principal, resource))
    return found
