"""Walks over Cedar's JSON form of a policy: the facts that it reads and the constants that it names.

Rules:

- What is not recognised counts as reading everything of its root (`principal`, `resource`, `context`): a cached
  answer may then be found less often, never wrongly.
- Walks use their own stack, so that depth is no matter.

Source: https://docs.cedarpolicy.com/policies/json-format.html.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from negotiator.policy.vocabulary import NAMESPACE

__all__ = ["EVERYTHING", "Entity", "Reads", "comparisons", "entities", "nodes", "reads", "scope_constant", "tag_names"]

Node: TypeAlias = Mapping[str, Any]
Entity: TypeAlias = tuple[str, str]
"""A constant reference: type without namespace, and id."""
Root: TypeAlias = Literal["principal", "resource", "request"]

EVERYTHING = "*"
"""Among the attributes read: all of them, and the entity's own id."""

_ID: Mapping[str, str] = {"principal": "subject", "resource": "name"}
"""The attribute that is also the entity's id."""
_COMPARING = frozenset({"==", "!=", "contains", "containsAll", "containsAny"})
_TAGGING = frozenset({"hasTag", "getTag"})


@dataclass(slots=True)
class Reads:
    """What a policy reads: attribute names by root, and tag names."""

    principal: set[str] = field(default_factory=set)
    resource: set[str] = field(default_factory=set)
    request: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)

    def add(self, root: Root, attribute: str) -> None:
        """Note one attribute of one root."""
        {"principal": self.principal, "resource": self.resource, "request": self.request}[root].add(attribute)

    @classmethod
    def union(cls, several: Iterable[Reads]) -> Reads:
        """Return what any of them reads."""
        whole = cls()
        for one in several:
            whole.principal |= one.principal
            whole.resource |= one.resource
            whole.request |= one.request
            whole.tags |= one.tags
        return whole


def nodes(root: object) -> Iterator[Node]:
    """Yield every object inside `root`, itself included."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def entities(policy: Node) -> Iterator[Entity]:
    """Yield every entity that a policy names, in its scope and in its conditions."""
    for part in ("principal", "action", "resource", "conditions"):
        for node in nodes(policy[part]):
            match node:
                case {"type": str(kind), "id": str(name)}:
                    yield kind.removeprefix(NAMESPACE), name


def scope_constant(scope: Node) -> tuple[str, Entity | None]:
    """Return the entity type that a principal's or resource's scope asks for, and the entity that it names.

    Returns:
        Type without namespace, empty for any; and the constant of `==` or `in`, None for none.
    """
    kind = str(scope.get("entity_type", "")).removeprefix(NAMESPACE)
    named = scope.get("entity") or scope.get("in", {}).get("entity")
    return kind, _entity(named) if named else None


def comparisons(policy: Node) -> Iterator[tuple[Root, str, str]]:
    """Yield (root, attribute, text) where an attribute is compared with a constant text, or a set is asked for one."""
    for node in nodes(policy["conditions"]):
        for operator in _COMPARING.intersection(node):
            operands = node[operator]
            for one, other in ((operands["left"], operands["right"]), (operands["right"], operands["left"])):
                if place := _attribute(one):
                    yield from ((*place, text) for text in _texts(other))


def tag_names(policy: Node) -> Iterator[str | None]:
    """Yield the name of every tag that a policy asks for; None where the name is computed."""
    for node in nodes(policy["conditions"]):
        for operator in _TAGGING.intersection(node):
            name = node[operator]["right"].get("Value")
            yield name if isinstance(name, str) else None


def reads(policy: Node) -> Reads:
    """Return every fact on which the outcome of a policy can depend, beside its action and the effective level."""
    found = Reads()
    for root in ("principal", "resource"):
        _, constant = scope_constant(policy[root])
        if constant and not _is_keyed(constant):
            found.add(root, _ID[root])
    stack: list[object] = [policy["conditions"]]
    while stack:
        node = stack.pop()
        stack.extend(_read(node, found) if isinstance(node, Mapping) else node if isinstance(node, list) else ())
    return found


def _read(node: Node, found: Reads) -> Iterable[object]:
    """Note what `node` itself reads, and return what is still to be looked at."""
    match node:
        case {".": operands} | {"has": operands} if place := _attribute({".": operands}):
            found.add(*place)
            return ()
        case {"hasTag": operands} | {"getTag": operands} if _root(operands["left"]) == "request":
            name = operands["right"].get("Value")
            found.tags.add(name if isinstance(name, str) else EVERYTHING)
            return (operands["right"],)
        case {"is": {"left": {"Var": _} as left} as test}:
            return _membership(left, test["in"], found) if "in" in test else ()
        case {"in": operands} | {"==": operands} if "Var" in operands["left"]:
            return _membership(operands["left"], operands["right"], found)
        case {"Var": "principal" | "resource" as variable}:
            found.add(variable, EVERYTHING)
            return ()
        case {"Var": "context"}:
            found.request.add(EVERYTHING)
            found.tags.add(EVERYTHING)
            return ()
    return node.values()


def _membership(left: Node, right: Node, found: Reads) -> Iterable[object]:
    """Note what `left in right` or `left == right` reads, for a variable and constants."""
    variable = left["Var"]
    constants = list(_constants(right))
    if variable not in _ID or not constants:
        return (left, right) if variable in _ID else (right,)
    if not all(_is_keyed(constant) for constant in constants):
        found.add(variable, _ID[variable])
    return ()


def _is_keyed(constant: Entity) -> bool:
    """Whether what it says of an entity is in every key anyway: its level, or this engine's only project."""
    return constant[0] in {"Level", "Project"}


def _constants(node: Node) -> Iterator[Entity]:
    """Yield the entities of a constant or of a set of constants; nothing if any member is computed."""
    members = node.get("Set", [node])
    values = [member.get("Value") for member in members]
    if all(isinstance(value, Mapping) and "__entity" in value for value in values):
        yield from (_entity(value["__entity"]) for value in values)


def _entity(reference: Node) -> Entity:
    return reference["type"].removeprefix(NAMESPACE), reference["id"]


def _attribute(node: Node) -> tuple[Root, str] | None:
    """Return (root, attribute) of `principal.x`, `resource.x` and `context.request.x`."""
    match node:
        case {".": {"left": left, "attr": str(attribute)}} if root := _root(left):
            return root, attribute
    return None


def _root(node: Node) -> Root | None:
    match node:
        case {"Var": "principal"}:
            return "principal"
        case {"Var": "resource"}:
            return "resource"
        case {".": {"left": {"Var": "context"}, "attr": "request"}}:
            return "request"
    return None


def _texts(node: Node) -> list[str]:
    """Return the texts of a constant or of a set of constants."""
    members = node.get("Set", [node])
    return [value for member in members if isinstance(value := member.get("Value"), str)]
