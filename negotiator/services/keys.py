"""Idempotency keys: one slot per agent, method, route and key, and at most one effect behind each.

A key is bound to what it was sent with. The same request again is told what became of the first one; the same key
with anything else is a mismatch. Nothing is ever run a second time. Anonymous callers have no slots.
"""

from __future__ import annotations

from negotiator.canonical import digest, sha256_hex
from negotiator.model.governed import GovernedRequest
from negotiator.model.records import Intent, KeyUse, OutcomeEnd
from negotiator.ports import Tx
from negotiator.services.callers import Caller

__all__ = ["has_key", "key_use", "taken_code"]


def has_key(request: GovernedRequest, caller: Caller) -> bool:
    """Whether the request's key can be met: it names an agent's slot and its whole body is known."""
    return bool(request.presented.idempotency_key and caller.identity.agent_id and not request.rule.stream_body)


def key_use(
    tx: Tx, request: GovernedRequest, caller: Caller, *, decision_id: str, proposal_id: str = ""
) -> KeyUse | None:
    """Return the use that this request makes of its key; None if it makes none."""
    if not has_key(request, caller):
        return None
    return KeyUse(
        subject=caller.identity.subject,
        method=request.method,
        route=request.rule.label,
        key_sha256=sha256_hex(request.presented.idempotency_key.encode()),
        fingerprint=_fingerprint(request),
        decision_id=decision_id,
        proposal_id=proposal_id,
        used_at=tx.now,
    )


def taken_code(tx: Tx, taken: KeyUse, wanted: KeyUse) -> str:
    """Return the refusal's code for a slot that is taken."""
    if taken.fingerprint != wanted.fingerprint:
        return "idempotency_mismatch"
    match tx.intents.get(taken.decision_id):
        case Intent(ended_at=None):
            return "idempotency_in_flight"
        case Intent(end=OutcomeEnd.INTERRUPTED):
            return "outcome_unknown"
        case _:
            return "idempotency_answer_not_stored"


def _fingerprint(request: GovernedRequest) -> str:
    return digest(
        {
            "method": request.method,
            "target_sha256": request.target_sha256,
            "content_type": request.content_type,
            "body_sha256": request.body_sha256,
        }
    )
