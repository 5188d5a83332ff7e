"""What Cedar's strict validation lets pass and our own registries do not.

Rules:

- A constant that can never match would make a forbid vanish silently, so each one is held against the registry that
  knows it: levels, roles, identity kinds, evidence kinds, tag names, obligations, finding codes.
- A tag's name is written out: a computed one could be checked by nobody.
- Arithmetic that can leave 64 bits is refused; facts count as numbers below 2^31.
- An error keeps the bundle from loading. A warning is told and loads.

Source: CAP-15…CAP-20; a misspelt word must never be the laxer reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import add, mul, sub
from typing import Any, get_args

from negotiator.errors import quoted
from negotiator.model.facts import IdentityKind
from negotiator.model.findings import DECLARATION_FINDING_CODES, Finding, Severity
from negotiator.model.levels import Level
from negotiator.model.obligations import EVIDENCE_KINDS, obligation_kind
from negotiator.model.people import ROLES
from negotiator.policy.expressions import comparisons, entities, nodes, tag_names
from negotiator.policy.policies import Policy, fault
from negotiator.policy.vocabulary import ADVISE, DECLARE

__all__ = ["RESERVED_IDS", "check_policy"]

RESERVED_IDS = frozenset(
    {"no-permit", "policy-error", "human-only", "undeclared-human", "undeclared-pass", "unmatched"}
)
"""Ids under which answers name a reason that is no policy."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_POINTER = re.compile(r"(/([^~/]|~[01])*)*")
_TAG = re.compile(r"(arg|claim):[A-Za-z0-9_.-]{1,64}")

_KNOWN_IDS: Mapping[str, tuple[str, ...]] = {"Level": tuple(level.name for level in Level), "Role": ROLES}
_OUR_TYPES = frozenset({"Request"})
"""Entities that we name afresh in each question; no policy can mean one."""
_KNOWN_TEXTS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("principal", "kind"): get_args(IdentityKind),
    ("request", "declared_evidence"): EVIDENCE_KINDS,
}
_ANNOTATIONS = frozenset({"id", "title", "requires", "remedy", "finding", "pointer", "fallback", "public", "source"})

_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul}
_FACT_BOUND = 2**31 - 1
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


def check_policy(policy: Policy) -> list[Finding]:
    """Return everything that is wrong with one policy that Cedar itself accepts."""
    faults = [
        fault("policy_invalid", f"{policy.file}: {policy.id}: {message}", policy.source)
        for check in _CHECKS
        for message in check(policy)
    ]
    warnings = [
        Finding(
            code="policy_unclear",
            severity=Severity.WARNING,
            message=f"{policy.file}: {policy.id}: {message}",
            source=policy.source,
        )
        for message in _unclear(policy)
    ]
    return faults + warnings


def _identifiers(policy: Policy) -> Iterator[str]:
    if not _ID.fullmatch(policy.id):
        yield f"@id {quoted(policy.id)} is not made of letters, digits and . _ : -"
    if policy.id in RESERVED_IDS:
        yield f"@id {quoted(policy.id)} is a word of our own; choose another"


def _annotations(policy: Policy) -> Iterator[str]:
    for name in sorted(policy.annotations.keys() - _ANNOTATIONS):
        yield f"@{name} is not an annotation; known are {_listed(_ANNOTATIONS)}"
    for name in ("requires", "finding"):
        if name in policy.annotations and policy.effect != "forbid":
            yield f"@{name} belongs on a forbid"
    if "requires" in policy.annotations and obligation_kind(policy.note("requires")) is None:
        yield f"@requires {quoted(policy.note('requires'))} is not an obligation"
    if "finding" in policy.annotations:
        yield from _finding(policy)
    if not _POINTER.fullmatch(policy.note("pointer")):
        yield f"@pointer {quoted(policy.note('pointer'))} is not a JSON Pointer (RFC 6901)"
    if policy.annotations.get("public", "true") != "true":
        yield '@public has the one value "true"'


def _finding(policy: Policy) -> Iterator[str]:
    if policy.note("finding") not in DECLARATION_FINDING_CODES:
        yield f"@finding {quoted(policy.note('finding'))} is not a finding code"
    if not _scoped_actions(policy.body["action"]) <= {DECLARE, ADVISE}:
        yield "@finding belongs on forbids of declare or advise alone"


def _scoped_actions(scope: Mapping[str, Any]) -> set[str]:
    """Return the actions that a scope names; a word that is none where it names no action at all."""
    named = [scope["entity"]] if "entity" in scope else scope.get("entities", ())
    return {entity["id"] for entity in named} or {"*"}


def _constants(policy: Policy) -> Iterator[str]:
    for kind, name in entities(policy.body):
        if kind in _KNOWN_IDS and name not in _KNOWN_IDS[kind]:
            yield f"{kind}::{quoted(name)} does not exist; known are {_listed(_KNOWN_IDS[kind])}"
        if kind in _OUR_TYPES:
            yield f"{kind}::{quoted(name)} can never be meant; read context.request"
    for root, attribute, text in comparisons(policy.body):
        known = _KNOWN_TEXTS.get((root, attribute))
        if known is not None and text not in known:
            yield f"{attribute} is never {quoted(text)}; known are {_listed(known)}"
    if not policy.body["action"].get("entities", ["one"]):
        yield "action in [] matches nothing"


def _tags(policy: Policy) -> Iterator[str]:
    for name in tag_names(policy.body):
        if name is None:
            yield "a tag's name is computed; write it out"
        elif not _TAG.fullmatch(name) and name not in {f"evidence:{kind}" for kind in EVIDENCE_KINDS}:
            yield f"tag {quoted(name)} is never set; use evidence:<kind>, arg:<name> or claim:<name>"


def _overflow(policy: Policy) -> Iterator[str]:
    for node in nodes(policy.body["conditions"]):
        low, high = _bounds(node)
        if low < _LONG_MIN or high > _LONG_MAX:
            yield "arithmetic can overflow 64 bits"
            return


def _bounds(node: Mapping[str, Any]) -> tuple[int, int]:
    """Return the least and the greatest value that an expression can have."""
    match node:
        case {"Value": bool()}:
            return 0, 0
        case {"Value": int(value)}:
            return value, value
        case {"neg": {"arg": arg}}:
            low, high = _bounds(arg)
            return -high, -low
    for operator in _ARITHMETIC.keys() & node.keys():
        operands = node[operator]
        return _combined(operator, _bounds(operands["left"]), _bounds(operands["right"]))
    return -_FACT_BOUND, _FACT_BOUND


def _combined(operator: str, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    corners = [_ARITHMETIC[operator](one, other) for one in left for other in right]
    return min(corners), max(corners)


def _unclear(policy: Policy) -> Iterator[str]:
    if not policy.note("title"):
        yield "has no @title; refusals will show its id"
    if policy.note("requires") and not policy.note("remedy"):
        yield "has @requires but no @remedy; agents will not learn how to meet it"
    if policy.note("pointer") and not policy.note("finding"):
        yield "has @pointer but no @finding; nobody will see it"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))


_CHECKS: tuple[Callable[[Policy], Iterable[str]], ...] = (_identifiers, _annotations, _constants, _tags, _overflow)
