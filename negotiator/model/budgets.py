"""Budgets: how much of everything that strangers and agents cause there may be. One table; each row is a setting.

A budget in memory counts in each process for itself; with four workers a source has four times as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, cast

__all__ = ["BUDGETS", "Budget", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One row of the table.

    Attributes:
        name: the key in `[budgets]`.
        default, least: in the unit that the name ends with.
        bounds: what it bounds.
        beyond: what happens to what is more.
    """

    name: str
    default: int
    least: int
    bounds: str
    beyond: str


def _budget(default: int, bounds: str, beyond: str, *, least: int = 1) -> Any:  # noqa: ANN401 - as `field` has it
    return field(default=default, metadata={"least": least, "bounds": bounds, "beyond": beyond})


_WAIT: Final = "429 `over_budget`, counted in a `suppressed` entry; `Retry-After` says when to come back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The budgets of one site."""

    declarations_per_source_and_minute: int = _budget(
        60, "declarations without a credential, and validations, from one source address; also its burst", _WAIT
    )
    declarations_per_second: int = _budget(20, "the same from all sources together; the burst is twice that", _WAIT)
    declarations_per_agent_and_minute: int = _budget(60, "declarations of one identified agent; also its burst", _WAIT)
    negotiations_per_agent: int = _budget(
        100, "live negotiations of one identified agent, in all processes", "429 `over_budget`: end or renew one"
    )
    waiting_declarations: int = _budget(
        8, "declarations whose answer is being worked out or waits for that, in one process", _WAIT
    )
    requests_per_source_and_minute: int = _budget(
        6_000, "governed requests without a credential from one source address; also its burst", _WAIT
    )
    requests_per_agent_and_minute: int = _budget(
        60_000, "governed requests of one identified agent; also its burst", _WAIT
    )
    refusals_per_source_and_minute: int = _budget(
        30,
        "refusals of callers without a verified identity that have an entry of their own",
        "answered as before, without `UAIX-Decision`, and counted in one `suppressed` entry a minute",
        least=0,
    )
    open_tasks_per_agent: int = _budget(
        50, "tasks of one agent that have not ended", "429 `over_budget`: report on one of them first"
    )
    evidence_per_agent: int = _budget(
        1_000, "pieces of evidence that one agent has handed in", "409 `evidence_quota_reached`: withdraw some"
    )
    evidence_mebibytes_per_agent: int = _budget(64, "what they may hold in all", "the same")
    negotiations_kept_days: int = _budget(
        30, "how long a negotiation that is over is kept; the ledger keeps its entry", "deleted, 500 a minute at most"
    )
    free_mebibytes: int = _budget(
        256,
        "free space beside an SQLite database",
        "503 `room_low`: below it strangers' declarations and validations, below half of it all declarations, below a "
        "quarter of it effects; reads go on until the disk is full",
        least=0,
    )


BUDGETS: Final[Mapping[str, Budget]] = MappingProxyType(
    {each.name: Budget(name=each.name, default=cast("int", each.default), **each.metadata) for each in fields(Limits)}
)
"""The rows, by name."""
