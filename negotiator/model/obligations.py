"""Obligations: what must be met before a refusal can become a permit.

The table is the closed registry: `@requires` may name only what stands here. Its order is the order in which
obligations are listed, and the code of a refusal is the code of the first one that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["EVIDENCE_KINDS", "OBLIGATION_KINDS", "Obligation", "ObligationKind", "in_order", "obligation_kind"]

EVIDENCE_KINDS = (
    "provenance",
    "audit_log",
    "validator_output",
    "consent_record",
    "memory_review",
    "final_report",
    "ui_parity",
    "source_excerpt",
)
"""Closed set of evidence kinds; the first six are what L6 declares (CAP-08)."""


@dataclass(frozen=True, slots=True)
class ObligationKind:
    """One thing that policies may require.

    Attributes:
        id: the value of `@requires`.
        code: the problem code of a refusal in which this is the first thing missing.
        title: what it is, for people.
        fact: the `Request` fact that it satisfies; empty where it changes the principal or a tag.
    """

    id: str
    code: str
    title: str
    fact: str = ""


OBLIGATION_KINDS = (
    ObligationKind("declaration", "declaration_required", "a capability declaration"),
    ObligationKind("identity", "identity_required", "a verified identity"),
    ObligationKind("memory_proposal", "memory_proposal_required", "a memory proposal", "via_proposal"),
    ObligationKind("review", "review_required", "a human review", "reviews"),
    ObligationKind("consent", "consent_required", "a human's consent", "has_consent"),
    *(ObligationKind(f"evidence:{kind}", "evidence_required", f"evidence: {kind}") for kind in EVIDENCE_KINDS),
    ObligationKind("unexpired", "packet_expired", "a request that has not expired", "is_expired"),
    ObligationKind("correlation", "correlation_required", "a correlation id", "has_correlation"),
    ObligationKind("expiry", "expiry_required", "an expiry time", "has_expiry"),
    ObligationKind("idempotency_key", "idempotency_key_missing", "an idempotency key", "has_idempotency_key"),
)
"""Every obligation there is, in the order in which they are listed."""

_BY_ID = {kind.id: kind for kind in OBLIGATION_KINDS}
_RANK = {kind.id: rank for rank, kind in enumerate(OBLIGATION_KINDS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """One thing that is missing, with the way to meet it and the policies that ask for it."""

    id: str
    title: str
    remedy: str
    policies: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the obligation as interface members."""
        return {"id": self.id, "title": self.title, "remedy": self.remedy, "policies": list(self.policies)}


def obligation_kind(obligation_id: str) -> ObligationKind | None:
    """Return the kind that `obligation_id` names, or None if the registry has none."""
    return _BY_ID.get(obligation_id)


def in_order(obligation_ids: Iterable[str]) -> list[str]:
    """Return the ids once each, in the registry's order; unknown ones last, by name."""
    return sorted(set(obligation_ids), key=lambda name: (_RANK.get(name, len(_RANK)), name))
