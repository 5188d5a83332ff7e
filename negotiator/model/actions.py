"""The actions that agents ask for, and their Cedar groups.

The schema `policies/schema.cedarschema` is the truth for Cedar; a test holds this table to it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = [
    "AGENT_ACTIONS",
    "HELD_ACTION",
    "HUMAN_ONLY_ACTION",
    "MEMORY_ACTIONS",
    "READ_ACTIONS",
    "WRITE_LIKE_ACTIONS",
    "AgentAction",
]

READ_ACTIONS = frozenset({"read_static", "read_json"})
"""Members of the group `read`: no effect, so one `decision` entry and no intent."""

WRITE_LIKE_ACTIONS = frozenset({"post", "publish", "authenticate", "call_tool", "submit_form"})
"""Members of the group `write_like`."""

MEMORY_ACTIONS = frozenset({"write_memory", "promote_memory"})
"""Members of the group `memory`."""

AgentAction: TypeAlias = Literal[
    "read_static",
    "read_json",
    "render_ui",
    "post",
    "publish",
    "authenticate",
    "call_tool",
    "submit_form",
    "run_task",
    "write_memory",
    "coordinate_agents",
]
"""The eleven actions that an agent may ask for."""

AGENT_ACTIONS: tuple[AgentAction, ...] = get_args(AgentAction)
"""The same, in the order of a negotiation."""

HELD_ACTION: AgentAction = "write_memory"
"""Its allowed requests wait for a human as proposals instead of reaching the site."""

HUMAN_ONLY_ACTION = "promote_memory"
"""Listed in every negotiation, always refused to agents, never asked of Cedar."""
