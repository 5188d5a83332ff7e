"""What keeps a site from being wholly ready, by code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["MAX_CLOCK_BEHIND_SECONDS", "Condition"]

MAX_CLOCK_BEHIND_SECONDS: Final = 60
"""How far the clock may be behind the ledger's last entry before somebody has to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Something that keeps the site from being wholly ready.

    Attributes:
        code: stable snake_case code.
        state: `degraded` still answers; `down` is a 503 of `readyz`.
        detail: what it is and what to do, for the operator.
    """

    code: str
    state: Literal["degraded", "down"]
    detail: str
