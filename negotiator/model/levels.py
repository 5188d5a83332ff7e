"""The client ladder L0 to L6 and what each ability needs.

Source: CAP-02…CAP-09, CAP-23. The words of each level are data (`profiles/`); only its order and ids are here.
"""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType

from negotiator.errors import RequestError, quoted

__all__ = [
    "ABILITIES",
    "CAPABILITY_PROFILES",
    "DEFAULT_ANONYMOUS_CAP",
    "DEFAULT_IDENTIFIED_CAP",
    "LOWEST_LEVEL_OF_ABILITY",
    "PROFILE_OF_LEVEL",
    "Level",
]


class Level(IntEnum):
    """A rung of the client ladder; the number orders them."""

    L0 = 0
    L1 = 1
    L2 = 2
    L3 = 3
    L4 = 4
    L5 = 5
    L6 = 6

    __hash__ = int.__hash__  # the enum's own is Python code, and levels are in the keys of every decision

    @classmethod
    def parse(cls, text: str) -> Level:
        """Return the level that `text` names, e.g. `L3`.

        Raises:
            RequestError: `unknown_level`, for anything else.
        """
        try:
            return cls[text]
        except KeyError:
            message = f"{quoted(text)} is not a level; use L0 to L6"
            raise RequestError(message, code="unknown_level") from None


PROFILE_OF_LEVEL = MappingProxyType(
    {
        Level.L0: "uai.client.limited-browser.v1",
        Level.L1: "uai.client.structured-fetch.v1",
        Level.L2: "uai.client.browser-assisted.v1",
        Level.L3: "uai.client.tool-agent.v1",
        Level.L4: "uai.client.workflow-agent.v1",
        Level.L5: "uai.client.multi-agent-runtime.v1",
        Level.L6: "uai.client.audited-agent-system.v1",
    }
)
"""The client profile of each level, one to one (CAP-09)."""

CAPABILITY_PROFILES = frozenset({"uai.capability.profile.v1", *PROFILE_OF_LEVEL.values()})
"""Profiles whose body is the eighteen-field capability body; what `negotiations` accepts."""

LOWEST_LEVEL_OF_ABILITY = MappingProxyType(
    {
        "can_fetch_static": Level.L0,
        "can_fetch_json": Level.L0,
        "can_execute_javascript": Level.L2,
        "can_use_browser_ui": Level.L2,
        "can_post_data": Level.L3,
        "can_authenticate": Level.L3,
        "can_call_tools": Level.L3,
        "can_run_long_tasks": Level.L4,
        "can_store_memory": Level.L4,
        "can_coordinate_agents": Level.L5,
    }
)
"""The published table of abilities (CAP-23), for documents. The rule itself is `policies/declaration.cedar`."""

ABILITIES = tuple(LOWEST_LEVEL_OF_ABILITY)
"""The ten ability flags in the order of the capability body."""

DEFAULT_ANONYMOUS_CAP = Level.L2
"""`max_level` of a caller without a credential."""

DEFAULT_IDENTIFIED_CAP = Level.L3
"""`max_level` of a new agent unless its operator says otherwise."""
