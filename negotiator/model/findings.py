"""Findings: what a check has to say about something it was given. Checks return them and never raise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["DECLARATION_FINDING_CODES", "Finding", "Severity"]


class Severity(StrEnum):
    """How much a finding weighs: an error refuses, a warning and an info do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of a check.

    Attributes:
        code: stable snake_case code.
        severity: what it does to the answer.
        pointer: RFC 6901 JSON Pointer to the place; empty means the whole document.
        message: what is wrong.
        remedy: how to mend it.
        source: what says so: a policy id (`policy:declare.javascript`), a schema (`schema:envelope`) or `codec`.
    """

    code: str
    severity: Severity
    message: str
    pointer: str = ""
    remedy: str = ""
    source: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as interface members."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "pointer": self.pointer,
            "message": self.message,
            "remedy": self.remedy,
            "source": self.source,
        }


DECLARATION_FINDING_CODES = frozenset(
    {
        "boundary_unclear",
        "capability_js_only_without_fallback",
        "capability_l0_l1_javascript_claim",
        "capability_level_overclaim",
        "certification_claim",
        "consent_boundary_missing",
        "correlation_id_missing",
        "expires_at_missing",
        "idempotency_key_missing",
        "l6_evidence_missing",
        "memory_proposal_missing",
        "packet_expired",
        "profile_level_mismatch",
        "runtime_execution_claim",
        "unsafe_credential",
    }
)
"""The codes that `@finding` may name; `policy check` refuses any other."""
