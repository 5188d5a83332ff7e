"""Facts as Cedar entities.

Rules:

- Built with the schema, base and delta alike. Without it Cedar has no action entities, so that `action in Group`
  never matches and every forbid on a group vanishes; and attributes are checked only where they are added.
- References are data (`{"type", "id"}`), never text; nothing that a caller sent becomes JSON here, only typed facts.
- The effective level is the agent's parent `Level`; while the level itself is being decided it has none.
- The roles of a person are the parents of its `Human`; its id is the person's.
- Optional attributes are absent when empty.
- One entity for each distinct fact; two facts that claim one name never meet in one set of entities.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, assert_never

import cedarpy
import orjson

from negotiator.model.approvers import Approver
from negotiator.model.decisions import Query
from negotiator.model.facts import AgentFacts, HumanFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.model.people import ROLES
from negotiator.policy.vocabulary import uid

__all__ = ["APPROVE_CONSENT", "Ground", "Population"]

APPROVE_CONSENT = "approve_consent"

_AGENT = tuple(f.name for f in fields(AgentFacts) if f.name != "operated_by")
_RESOURCE = ("name", "kind", "public", "two_person", "protected")
_REQUEST = tuple(f.name for f in fields(RequestFacts) if f.name not in {"tags", "declared_evidence"})
_AGENT_VALUES = attrgetter(*_AGENT)
_RESOURCE_VALUES = attrgetter(*_RESOURCE)
_REQUEST_VALUES = attrgetter(*_REQUEST)

_RECORD_ZEROS: Mapping[str, Any] = {"tier": "", "anchor": False, "persona_source": False, "disclosure": "private"}
"""Facts of memory records that no room computes yet, at their most reserved."""


class Ground:
    """What every question stands on: the ladder, roles, the project, and the schema's actions. Immutable.

    Args:
        schema: Cedar's handle. None leaves action groups out; the engine's self-test finds that.
        project: the id of the one project that this engine decides for.
    """

    def __init__(self, schema: cedarpy.Schema | None, *, project: str) -> None:
        self.project = project
        self._schema = schema
        self._base = cedarpy.Entities.from_json_str(_dump([*_ladder(), *_roles(), _bare("Project", project)]), schema)

    def as_json(self) -> str:
        """Return the base entities in Cedar's JSON form."""
        return str(self._base)

    def with_facts(self, delta: Iterable[Mapping[str, Any]]) -> cedarpy.Entities:
        """Return the base and `delta`, checked against the schema.

        Raises:
            ValueError, TypeError: a fact that the schema or Cedar does not take.
        """
        return self._base.with_added_json_str(_dump(list(delta)), self._schema)


class Population:
    """The distinct facts of some questions, as entities. For one call; not shared between threads."""

    def __init__(self, project: str) -> None:
        self._project = uid("Project", project)
        self._entities: dict[tuple[str, str], dict[str, Any]] = {}
        self._references: dict[tuple[int, Level | None], dict[str, str]] = {}
        self._contexts: dict[Hashable, str] = {}
        self._seen: dict[int, str] = {}

    def entities(self) -> Iterable[Mapping[str, Any]]:
        """Return every entity added so far."""
        return self._entities.values()

    def add(self, query: Query) -> dict[str, Any] | None:
        """Return Cedar's request for `query`; None if its facts contradict facts that are here already."""
        principal = self._reference(query.principal, query.level)
        resource = self._reference(query.resource, None)
        if principal is None or resource is None:
            return None
        return {
            "principal": principal,
            "action": uid("Action", query.action),
            "resource": resource,
            "context": self._seen.get(id(query.request)) or self._context(query.request),
        }

    def add_site(self, action: str) -> dict[str, Any]:
        """Return Cedar's request of the site itself, which acts upon its project and has no facts of its own."""
        site = _bare("Site", self._project["id"])
        self._entities["Site", self._project["id"]] = site
        return {
            "principal": site["uid"],
            "action": uid("Action", action),
            "resource": self._project,
            "context": self._context(RequestFacts()),
        }

    def add_approving(
        self, approver: Approver, resource: ResourceFacts, *, requester: AgentFacts, level: Level | None, action: str
    ) -> dict[str, Any]:
        """Return Cedar's request for whether `approver` may approve that `requester` does `action` upon `resource`."""
        human = _human(HumanFacts(person=approver.person_id, assurance=approver.assurance, roles=approver.roles))
        self._entities[human["uid"]["type"], human["uid"]["id"]] = human
        target = self._reference(resource, None)
        asked = RequestFacts()
        values = _REQUEST_VALUES(asked)
        attributes = dict(zip(_REQUEST, values, strict=True)) | {
            "declared_evidence": [],
            "requester": {"__entity": self._reference(requester, level)},
            "for_action": {"__entity": uid("Action", action)},
        }
        reference = uid("Request", "0")
        self._entities[reference["type"], reference["id"]] = {
            "uid": reference,
            "attrs": attributes,
            "tags": {},
            "parents": [],
        }
        return {
            "principal": human["uid"],
            "action": uid("Action", APPROVE_CONSENT),
            "resource": target,
            "context": _dump({"request": {"__entity": reference}}),
        }

    def _reference(
        self, facts: AgentFacts | HumanFacts | ResourceFacts | Level, level: Level | None
    ) -> dict[str, str] | None:
        """Return the reference to the entity of `facts`, adding it once; None if its name is taken by other facts."""
        seen = self._references.get((id(facts), level))
        if seen is not None:
            return seen
        match facts:
            case Level():
                return uid("Level", facts.name)
            case AgentFacts():
                entity = self._agent(facts, level)
            case HumanFacts():
                entity = _human(facts)
            case ResourceFacts(type="Project"):
                return uid("Project", facts.name)
            case ResourceFacts():
                entity = self._resource(facts)
            case _:
                assert_never(facts)
        reference: dict[str, str] = entity["uid"]
        if self._entities.setdefault((reference["type"], reference["id"]), entity) != entity:
            return None
        self._references[id(facts), level] = reference
        return reference

    def _agent(self, agent: AgentFacts, level: Level | None) -> dict[str, Any]:
        attributes = dict(zip(_AGENT, _AGENT_VALUES(agent), strict=True))
        if agent.operated_by:
            attributes["operated_by"] = agent.operated_by
        above = [self._project] if level is None else [self._project, uid("Level", level.name)]
        return {"uid": uid("Agent", agent.subject), "attrs": attributes, "parents": above}

    def _resource(self, resource: ResourceFacts) -> dict[str, Any]:
        attributes = dict(zip(_RESOURCE, _RESOURCE_VALUES(resource), strict=True))
        reference = uid(resource.type, resource.name)
        if resource.type != "MemoryRecord":
            return {"uid": reference, "attrs": attributes, "parents": [self._project]}
        return {"uid": reference, "attrs": {**attributes, **_RECORD_ZEROS, "path": resource.path}, "parents": []}

    def _context(self, request: RequestFacts) -> str:
        """Return the context that names the entity of `request`. The name is ours, so nothing can contradict."""
        values = _REQUEST_VALUES(request)
        content = (values, request.declared_evidence, tuple(request.tags.items()))
        context = self._contexts.get(content)
        if context is None:
            reference = uid("Request", str(len(self._contexts)))
            attributes = dict(zip(_REQUEST, values, strict=True))
            attributes["declared_evidence"] = sorted(request.declared_evidence)
            entity = {"uid": reference, "attrs": attributes, "tags": dict(request.tags), "parents": []}
            self._entities[reference["type"], reference["id"]] = entity
            context = self._contexts[content] = _dump({"request": {"__entity": reference}})
        self._seen[id(request)] = context
        return context


def _human(human: HumanFacts) -> dict[str, Any]:
    return {
        "uid": uid("Human", human.person),
        "attrs": {"person": human.person, "assurance": human.assurance},
        "parents": [uid("Role", role) for role in sorted(human.roles)],
    }


def _ladder() -> list[dict[str, Any]]:
    return [
        {
            "uid": uid("Level", level.name),
            "attrs": {"number": int(level)},
            "parents": [uid("Level", Level(level - 1).name)] if level else [],
        }
        for level in Level
    ]


def _roles() -> list[dict[str, Any]]:
    return [_bare("Role", role) for role in ROLES]


def _bare(entity_type: str, entity_id: str) -> dict[str, Any]:
    return {"uid": uid(entity_type, entity_id), "attrs": {}, "parents": []}


def _dump(value: object) -> str:
    return orjson.dumps(value).decode()
