"""The documents that answers about declarations consist of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from negotiator.model.entries import EntryPosition
from negotiator.model.facts import AgentFacts
from negotiator.model.findings import Finding
from negotiator.model.messages import Message
from negotiator.model.records import Identity, Negotiation
from negotiator.model.routes import Mode
from negotiator.model.times import format_time
from negotiator.policy import RESERVED_IDS, Engine
from negotiator.services.assessment import Assessment, has_errors

__all__ = [
    "NEGOTIATION_PROFILE",
    "SUPPORT_BOUNDARY",
    "identity_shown",
    "negotiation_body",
    "negotiation_message",
    "negotiation_summary",
    "validation_report",
]

T = TypeVar("T")

NEGOTIATION_PROFILE = "uai.capability.negotiation.v1"

SUPPORT_BOUNDARY = (
    "This site publishes boundaries, decides requests by its own policies and records its decisions. It runs no work "
    "on an agent's behalf. UAIX, Carcinus and LocalEndPoint are separate parties, and no answer here is a "
    "certification or an endorsement by any of them."
)

_CONSENT_SCOPES = {
    "post": "write",
    "submit_form": "write",
    "call_tool": "write",
    "authenticate": "authorization",
    "write_memory": "memory",
    "publish": "public_publishing",
    "coordinate_agents": "coordination",
}


def negotiation_body(
    assessment: Assessment,
    *,
    negotiation_id: str,
    decision_id: str,
    position: EntryPosition,
    expires_at: datetime,
    mode: Mode,
    consent_url: str = "",
    evidence_url: str = "",
) -> dict[str, Any]:
    """Return the body of an answer, but for its token."""
    declaration, admission, principal = assessment.declaration, assessment.admission, assessment.principal
    actions = _shown_to(principal, assessment.matrix.as_json() if assessment.matrix else {}, assessment.engine)
    assert admission.effective is not None  # noqa: S101 - only admitted declarations are answered
    return {
        "negotiation_id": negotiation_id,
        "declared_level": declaration.level.name,
        "effective_level": admission.effective.name,
        "level_obligations": _shown_to(
            principal, [obligation.as_json() for obligation in admission.obligations], assessment.engine
        ),
        "identity": {"kind": principal.kind, "subject": principal.subject, "verified": principal.verified},
        "bundle_digest": assessment.engine.bundle.digest,
        "expires_at": format_time(expires_at),
        "mode": mode,
        "actions": actions,
        "findings": [finding.as_json() for finding in assessment.findings],
        "consent": {"request_url": consent_url, "scopes": _consent_scopes(actions)},
        "requires": {
            "idempotency_header": "Idempotency-Key",
            "correlation_header": "UAIX-Correlation",
            "consent_header": "UAIX-Consent",
            "evidence_url": evidence_url,
        },
        "fallback_behavior": declaration.fallback,
        "safe_default_response": declaration.safe_default,
        "support_boundary": SUPPORT_BOUNDARY,
        "decision_id": decision_id,
        "ledger": position.as_json(),
    }


def _shown_to(principal: AgentFacts, document: T, engine: Engine) -> T:
    """Return `document` without the ids of policies that an unidentified caller may not be told of."""
    return document if principal.verified else _without(document, engine.bundle.public_ids | RESERVED_IDS)


def _without(node: Any, public: Collection[str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(node, dict):
        return {
            name: [policy for policy in value if policy in public] if name == "policies" else _without(value, public)
            for name, value in node.items()
        }
    return [_without(value, public) for value in node] if isinstance(node, list) else node


def negotiation_message(negotiation: Negotiation, *, token: str) -> dict[str, Any]:
    """Return the keyed `uai.capability.negotiation.v1`; without a token where `token` is empty."""
    body = dict(negotiation.body)
    if token:
        body["token"] = token
    return {
        "uai_version": "1.0",
        "profile": NEGOTIATION_PROFILE,
        "message_id": negotiation.negotiation_id,
        "body": body,
    }


def negotiation_summary(negotiation: Negotiation) -> dict[str, Any]:
    """Return what `me` lists of a negotiation."""
    return {
        "negotiation_id": negotiation.negotiation_id,
        "declared_level": negotiation.declared_level.name,
        "effective_level": negotiation.effective_level.name,
        "issued_at": format_time(negotiation.issued_at),
        "expires_at": format_time(negotiation.expires_at),
    }


def identity_shown(identity: Identity) -> dict[str, Any]:
    """Return what a caller is told about itself."""
    return {
        "kind": identity.kind,
        "subject": identity.subject,
        "verified": identity.verified,
        "max_level": identity.max_level.name,
    }


def validation_report(message: Message | None, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the answer of `validate`; `message` is None where the bytes could not be decoded."""
    return {
        "valid": not has_errors(findings),
        "profile": message.profile if message else None,
        "encoding": message.encoding if message else None,
        "digest": message.digest if message else None,
        "findings": [finding.as_json() for finding in findings],
    }


def _consent_scopes(actions: Mapping[str, Any]) -> list[str]:
    """Return the consent scopes that the caller would need, in the order of the actions."""
    needed = (
        _CONSENT_SCOPES[name]
        for name, cell in actions.items()
        if name in _CONSENT_SCOPES and any(obligation["id"] == "consent" for obligation in cell["obligations"])
    )
    return list(dict.fromkeys(needed))
