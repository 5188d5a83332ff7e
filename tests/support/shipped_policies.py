"""Asks the shipped policies directly, without the engine: questions as plain mappings, answers as Cedar gives them.

Rules:

- The facts of an agent and of a request are the fields of `AgentFacts` and `RequestFacts`; one that a question leaves
  out has its zero value. So a field that the schema does not know, or the reverse, fails every test.
- Entities are built with the schema, at the base and at the addition: without it action groups vanish.
- Several questions go to Cedar as one batch, since parsing entities costs more than deciding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import cedarpy

from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.levels import Level

POLICY_DIR = Path(__file__).parents[2] / "policies"

_ZERO_RESOURCE = {"name": "-", "kind": "", "public": False, "two_person": False, "protected": False}
_ZERO_RECORD = {"path": "", "tier": "", "anchor": False, "persona_source": False, "disclosure": "private"}
_ZERO_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "Human": {"person": "", "assurance": 0},
    "MemoryRecord": _ZERO_RESOURCE | _ZERO_RECORD,
    "Package": _ZERO_RESOURCE,
    "Project": {},
    "Resource": _ZERO_RESOURCE,
    "Site": {},
    "Tool": _ZERO_RESOURCE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedPolicy:
    """One policy as it stands in `policies/`."""

    id: str
    file: str
    effect: str
    annotations: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def actions(self) -> frozenset[str]:
        """The actions and groups that its scope names."""
        scope = self.body["action"]
        named = scope["entities"] if "entities" in scope else [scope["entity"]]
        return frozenset(entity["id"] for entity in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """May this principal do this upon that? Each mapping holds facts; `type`, `level`, `roles` and `tags` are ours."""

    principal: Mapping[str, Any]
    action: str
    resource: Mapping[str, Any]
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Cedar said."""

    decision: str
    policies: tuple[str, ...]
    errors: tuple[str, ...]

    def noted(self, annotation: str) -> list[str]:
        """Return the values of `annotation` on the policies that decided, sorted, once each."""
        values = (shipped()[name].annotations.get(annotation) for name in self.policies)
        return sorted({value for value in values if value})


def question(
    action: str,
    principal: Mapping[str, Any],
    request: Mapping[str, Any] | None = None,
    resource: Mapping[str, Any] | None = None,
) -> Question:
    """Return a question upon the resource type that `action` is usually asked on."""
    usual = {"type": "Tool" if action == "call_tool" else "Resource"}
    return Question(action=action, principal=principal, request=request or {}, resource=resource or usual)


@cache
def shipped() -> Mapping[str, ShippedPolicy]:
    """Return the shipped policies by id; an id that repeats, or is missing, is an error."""
    found: dict[str, ShippedPolicy] = {}
    for path in sorted(POLICY_DIR.glob("*.cedar")):
        for body in json.loads(cedarpy.policies_to_json_str(path.read_text("utf-8")))["staticPolicies"].values():
            notes = body["annotations"]
            assert notes["id"] not in found, f"{notes['id']} stands twice"
            policy = ShippedPolicy(id=notes["id"], file=path.stem, effect=body["effect"], annotations=notes, body=body)
            found[policy.id] = policy
    return found


@cache
def schema() -> cedarpy.Schema:
    """Return the shipped schema."""
    return cedarpy.Schema.from_str((POLICY_DIR / "schema.cedarschema").read_text("utf-8"))


@cache
def action_parents() -> Mapping[str, frozenset[str]]:
    """Return the groups of each action, as Cedar reads them from the schema."""
    entities = json.loads(str(cedarpy.Entities.from_json_str("[]", schema())))
    actions = [entity for entity in entities if entity["uid"]["type"] == "Uaix::Action"]
    return {a["uid"]["id"]: frozenset(parent["id"] for parent in a["parents"]) for a in actions}


def ask(questions: Iterable[Question]) -> list[Answer]:
    """Ask every question of the whole policy set and return the answers in order."""
    asked = list(questions)
    added = [entity for number, q in enumerate(asked) for entity in _entities(number, q)]
    entities = _base().with_added_json_str(json.dumps(added), schema())
    requests = [_request(number, q) for number, q in enumerate(asked)]
    return [_answer(result) for result in cedarpy.is_authorized_batch(requests, _policy_set(), entities, schema())]


def agent_attributes(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an Agent's attributes; `operated_by` is left out where nobody is named, as the schema says."""
    plain = {key: value for key, value in facts.items() if key not in {"type", "level"}}
    agent = AgentFacts(**{"subject": "agent"} | plain)
    attributes = {f.name: getattr(agent, f.name) for f in fields(agent)}
    return {key: value for key, value in attributes.items() if key != "operated_by" or value}


def request_attributes(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Request's attributes without `requester`, `for_action` and tags."""
    request = RequestFacts(**facts)
    attributes = {f.name: getattr(request, f.name) for f in fields(request) if f.name != "tags"}
    return attributes | {"declared_evidence": sorted(request.declared_evidence)}


def entity(kind: str, name: str, attributes: Mapping[str, Any], parents: Iterable[Any] = ()) -> dict[str, Any]:
    """Return one entity in Cedar's JSON form."""
    return {"uid": uid(kind, name), "attrs": dict(attributes), "parents": list(parents)}


def uid(kind: str, name: str) -> dict[str, str]:
    """Return an entity reference in Cedar's JSON form."""
    return {"type": f"Uaix::{kind}", "id": name}


@cache
def _policy_set() -> cedarpy.PolicySet:
    bodies = {policy.id: policy.body for policy in shipped().values()}
    return cedarpy.PolicySet.from_json_str(json.dumps({"staticPolicies": bodies, "templates": {}, "templateLinks": []}))


@cache
def _base() -> cedarpy.Entities:
    levels = [
        entity("Level", level.name, {"number": int(level)}, [uid("Level", f"L{level - 1}")] if level else [])
        for level in Level
    ]
    return cedarpy.Entities.from_json_str(json.dumps(levels), schema())


def _entities(number: int, q: Question) -> list[dict[str, Any]]:
    made = [_principal(number, q.principal), *_described(number, q.request)]
    if q.resource["type"] != "Level":
        made.append(_plain(q.resource["type"], f"resource-{number}", q.resource))
    return made


def _principal(number: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    kind, name = facts.get("type", "Agent"), f"principal-{number}"
    if kind == "Agent":
        parents = [uid("Level", facts["level"])] if facts.get("level") else []
        return entity("Agent", name, agent_attributes(facts), parents)
    return _plain(kind, name, facts, [uid("Role", role) for role in facts.get("roles", ())])


def _plain(kind: str, name: str, facts: Mapping[str, Any], parents: Iterable[Any] = ()) -> dict[str, Any]:
    told = {key: value for key, value in facts.items() if key not in {"type", "roles"}}
    return entity(kind, name, {**_ZERO_ATTRIBUTES[kind], **told}, parents)


def _described(number: int, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    plain = {key: value for key, value in facts.items() if key not in {"requester", "for_action", "tags"}}
    attributes = request_attributes(plain)
    made = []
    if "requester" in facts:
        made.append(entity("Agent", f"requester-{number}", agent_attributes(facts["requester"])))
        attributes["requester"] = {"__entity": uid("Agent", f"requester-{number}")}
    if "for_action" in facts:
        attributes["for_action"] = {"__entity": uid("Action", facts["for_action"])}
    request = entity("Request", f"request-{number}", attributes) | {"tags": dict(facts.get("tags", {}))}
    return [*made, request]


def _request(number: int, q: Question) -> dict[str, Any]:
    kind = q.resource["type"]
    return {
        "principal": uid(q.principal.get("type", "Agent"), f"principal-{number}"),
        "action": uid("Action", q.action),
        "resource": uid(kind, q.resource["id"] if kind == "Level" else f"resource-{number}"),
        "context": {"request": {"__entity": uid("Request", f"request-{number}")}},
    }


def _answer(result: cedarpy.AuthzResult) -> Answer:
    return Answer(
        decision=str(result.decision.value).lower(),
        policies=tuple(sorted(result.diagnostics.reasons)),
        errors=tuple(sorted(str(problem) for problem in result.diagnostics.errors)),
    )
