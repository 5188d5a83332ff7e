"""The actions that agents ask for, and their Cedar groups.

The schema `policies/schema.cedarschema` is the truth for Cedar; a test holds this table to it.
"""

from __future__ import annotations

__all__ = ["AGENT_ACTIONS", "HUMAN_ONLY_ACTION", "MEMORY_ACTIONS", "READ_ACTIONS", "WRITE_LIKE_ACTIONS"]

READ_ACTIONS = frozenset({"read_static", "read_json"})
"""Members of the group `read`: no effect, so one `decision` entry and no intent."""

WRITE_LIKE_ACTIONS = frozenset({"post", "publish", "authenticate", "call_tool", "submit_form"})
"""Members of the group `write_like`."""

MEMORY_ACTIONS = frozenset({"write_memory", "promote_memory"})
"""Members of the group `memory`."""

AGENT_ACTIONS = (
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
)
"""The eleven actions that an agent may ask for, in the order of a negotiation."""

HUMAN_ONLY_ACTION = "promote_memory"
"""Listed in every negotiation, always refused to agents, never asked of Cedar."""
