"""Idempotency keys: one slot per agent, method, route and key, and at most one effect behind each.

A key is bound to what it was sent with. The same request again is told what became of the first one; the same key
with anything else is a mismatch. Nothing is ever run a second time, unless it is known that it was not run at all.
Anonymous callers have no slots.
"""

from __future__ import annotations

from datetime import datetime

from negotiator.canonical import digest, sha256_hex
from negotiator.model.facts import RequestFacts
from negotiator.model.governed import GovernedRequest
from negotiator.model.records import KeySlot, KeyUse
from negotiator.services.callers import Caller

__all__ = ["CONSUMABLE", "consumed_facts", "fingerprint", "has_key", "key_slot", "key_use"]

CONSUMABLE = ("has_consent",)
"""Facts that an effect uses up, so that its repetition could not bring them again."""


def has_key(request: GovernedRequest, caller: Caller) -> bool:
    """Whether the request's key can be met: it names an agent's slot and its whole body is known."""
    return bool(request.presented.idempotency_key and caller.identity.agent_id and not request.rule.stream_body)


def key_slot(request: GovernedRequest, caller: Caller) -> KeySlot:
    """Return the slot that the request's key names."""
    return KeySlot(
        subject=caller.identity.subject,
        method=request.method,
        route=request.rule.label,
        key_sha256=sha256_hex(request.presented.idempotency_key.encode()),
    )


def key_use(
    request: GovernedRequest,
    caller: Caller,
    *,
    decision_id: str,
    at: datetime,
    proposal_id: str = "",
    consumed: tuple[str, ...] = (),
) -> KeyUse:
    """Return the use that this request makes of its key."""
    slot = key_slot(request, caller)
    return KeyUse(
        subject=slot.subject,
        method=slot.method,
        route=slot.route,
        key_sha256=slot.key_sha256,
        fingerprint=fingerprint(request),
        decision_id=decision_id,
        proposal_id=proposal_id,
        used_at=at,
        consumed=consumed,
    )


def consumed_facts(facts: RequestFacts) -> tuple[str, ...]:
    """Return the names of the facts that an effect allowed on `facts` uses up."""
    return tuple(name for name in CONSUMABLE if getattr(facts, name))


def fingerprint(request: GovernedRequest) -> str:
    """Return the digest of everything that a repetition must have in common with the first request."""
    return digest(
        {
            "method": request.method,
            "target_sha256": request.target_sha256,
            "content_type": request.content_type,
            "conditions": [list(line) for line in request.conditions],
            "socket": request.socket,
            "body_sha256": request.body_sha256,
        }
    )
