"""Every no says how to get to yes: refusals composed from decisions, admissions and caller errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from negotiator.model.decisions import Admission, Decision
from negotiator.model.findings import Finding
from negotiator.model.governed import Refusal
from negotiator.model.obligations import Obligation, obligation_kind
from negotiator.policy import RESERVED_IDS

__all__ = ["declaration_obligation", "from_admission", "from_decision", "shown_policies"]

_NOTHING_HELPS = "stop here: nothing that you can bring changes this answer"


def declaration_obligation(prefix: str) -> Obligation:
    """Return the obligation of a caller that has not declared itself."""
    kind = obligation_kind("declaration")
    assert kind is not None  # noqa: S101 - the registry holds it
    remedy = f"POST a capability declaration to {prefix}/negotiations and send its token as UAIX-Negotiation"
    return Obligation(id=kind.id, title=kind.title, remedy=remedy, policies=())


def from_decision(
    decision: Decision, *, decision_id: str, public: Collection[str] | None, fallback: str, safe_default: str
) -> Refusal:
    """Return the refusal that a denying decision gives.

    Args:
        decision: a deny.
        decision_id: for the answer and the ledger.
        public: ids that may be shown to this caller; None shows all.
        fallback: the client's own fallback, where the policies name none.
        safe_default: the client's own safe default response.
    """
    obligations = tuple(_shown(obligation, public) for obligation in decision.obligations)
    missing = ", ".join(obligation.title for obligation in obligations)
    return Refusal(
        code=decision.code,
        detail=f"missing: {missing}" if missing else decision.reason or "the policies do not allow this",
        decision_id=decision_id,
        obligations=obligations,
        policies=shown_policies(decision.policies, public),
        fallback=decision.fallback or fallback,
        safe_default=safe_default,
        next_action=obligations[0].remedy if obligations else decision.remedy or decision.fallback or _NOTHING_HELPS,
    )


def from_admission(
    admission: Admission,
    *,
    findings: tuple[Finding, ...],
    decision_id: str,
    public: Collection[str] | None,
    fallback: str,
    safe_default: str,
) -> Refusal:
    """Return the refusal of a declaration: with its findings, or because no level is allowed at all."""
    errors = [finding for finding in findings if finding.severity == "error"]
    code = "declaration_invalid" if errors else "refused"
    detail = "; ".join(dict.fromkeys(finding.message for finding in errors))
    return Refusal(
        code=code,
        detail=detail if errors else "no client level is allowed for this declaration",
        decision_id=decision_id,
        obligations=tuple(_shown(obligation, public) for obligation in admission.obligations),
        policies=shown_policies(admission.decision.policies, public),
        findings=findings,
        fallback=fallback,
        safe_default=safe_default,
        next_action=errors[0].remedy if errors else _NOTHING_HELPS,
    )


def shown_policies(policies: Iterable[str], public: Collection[str] | None) -> tuple[str, ...]:
    """Return the ids that a caller may see."""
    return tuple(policy for policy in policies if public is None or policy in public or policy in RESERVED_IDS)


def _shown(obligation: Obligation, public: Collection[str] | None) -> Obligation:
    return Obligation(
        id=obligation.id,
        title=obligation.title,
        remedy=obligation.remedy,
        policies=shown_policies(obligation.policies, public),
    )
