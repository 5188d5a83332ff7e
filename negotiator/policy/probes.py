"""The engine's self-test: questions with known answers, asked of the live entities.

Rules:

- Each action group has a set of two policies: permit everything, forbid the group. Each member must be denied, and
  an action outside must be allowed, else the entities were built without the schema and group forbids vanish.
- Each level has one as well: forbid everybody at or above it.
- They are asked through the very path that requests take, with an agent's facts added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cedarpy

from negotiator.model.decisions import Query
from negotiator.model.facts import AgentFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.policy.slices import Slice
from negotiator.policy.vocabulary import NAMESPACE, Vocabulary

__all__ = ["Probe", "probes"]

_AGENT = AgentFacts(subject="probe")
_REQUEST = RequestFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question, the policies to ask it of, and whether they allow it."""

    query: Query
    slice: Slice
    allowed: bool

    def describe(self) -> str:
        """Say what was expected, for the operator."""
        expected = "allowed" if self.allowed else "denied"
        level = self.query.level.name if self.query.level is not None else "no level"
        return f"{self.query.action} at {level} should be {expected} where {self.slice.ids[0]} is forbidden"


def probes(vocabulary: Vocabulary) -> Iterator[Probe]:
    """Yield the probes for a vocabulary's groups and for the ladder."""
    for group in vocabulary.groups():
        forbidden = _forbid(f"group {group}", f'principal, action in {NAMESPACE}Action::"{group}", resource')
        members = vocabulary.members(group)
        outside = next(name for name in vocabulary.actions if name not in members and name != group)
        for action in (*members, outside):
            yield Probe(query=_query(action, Level.L0, vocabulary), slice=forbidden, allowed=action == outside)
    for floor in Level:
        forbidden = _forbid(f"level {floor.name}", f'principal in {NAMESPACE}Level::"{floor.name}", action, resource')
        for level in Level:
            yield Probe(query=_query("read_static", level, vocabulary), slice=forbidden, allowed=level < floor)


def _query(action: str, level: Level, vocabulary: Vocabulary) -> Query:
    shape = vocabulary.actions[action]
    resource: ResourceFacts | Level = ResourceFacts()
    if "Tool" in shape.resources:
        resource = ResourceFacts(type="Tool")
    elif "MemoryRecord" in shape.resources:
        resource = ResourceFacts(type="MemoryRecord")
    elif "Level" in shape.resources:
        resource = Level.L0
    return Query(principal=_AGENT, level=level, action=action, resource=resource, request=_REQUEST)


def _forbid(name: str, scope: str) -> Slice:
    handle = cedarpy.PolicySet.from_str(f"permit (principal, action, resource); forbid ({scope});")
    return Slice(ids=(name,), handle=handle, facts=id)
