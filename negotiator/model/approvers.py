"""Who approves: a person in an interactive session, as far as policies and records need to know."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Approver"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """A signed-in person. Whoever makes one has checked the session; an agent's credential never gives one.

    Attributes:
        person_id: stable; the policies' `person`.
        name: for other people.
        roles: held in this project.
        assurance: of this session: 1 session, 2 password, 3 one-time code, 4 security key.
        operated_agents: ids of the agents that this person runs.
    """

    person_id: str
    name: str
    roles: frozenset[str]
    assurance: int
    operated_agents: frozenset[str] = frozenset()
