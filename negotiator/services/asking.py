"""Filing consent requests, inside a unit: few that wait, equal ones once, none while a denial cools down.

The answer says which; filing never raises, so that the refusal beside it is recorded whatever comes of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from negotiator.model.consents import AccessRequest, ConsentRequest, ConsentState
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.records import Principal
from negotiator.ports import ConsentReads, Tx

__all__ = ["Asked", "ConsentTerms", "access_of", "consent_entry", "cooling", "file_request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentTerms:
    """What a site's configuration fixes for all its consents.

    Attributes:
        lifetime: how long a request waits.
        approval_lifetime: how long an approval holds at most.
        cooldown: how long a denial keeps the same agent from asking for the same again.
        pending_per_agent, pending: how many requests may wait.
    """

    lifetime: timedelta
    approval_lifetime: timedelta
    cooldown: timedelta
    pending_per_agent: int
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of asking.

    Attributes:
        code: `consent_required` where it waits since now, `consent_pending` where an equal one waits already,
            `consent_denied` while a denial cools down, `over_budget` where too many wait.
        request: the one that waits; None where none does.
        retry_after_seconds: 0 where waiting does not help.
    """

    code: str
    request: ConsentRequest | None = None
    retry_after_seconds: int = 0


def file_request(tx: Tx, request: ConsentRequest, terms: ConsentTerms) -> Asked:
    """Let `request` wait, if it may."""
    known = tx.consents.of_digests(request.subject, [request.digest])
    if known is not None and known.state_at(tx.now) is ConsentState.PENDING:
        return Asked(code="consent_pending", request=known)
    wait = cooling(tx.consents, request, now=tx.now, cooldown=terms.cooldown)
    if wait:
        return Asked(code="consent_denied", retry_after_seconds=wait)
    if tx.consents.pending_of(request.subject) >= terms.pending_per_agent or tx.consents.pending() >= terms.pending:
        return Asked(code="over_budget", retry_after_seconds=_seconds(terms.lifetime) // 10 or 1)
    tx.consents.add(request)
    tx.append(consent_entry("consent_requested", request, actor=Principal(type="Agent", id=request.subject).as_json()))
    return Asked(code="consent_required", request=request)


def cooling(consents: ConsentReads, request: ConsentRequest, *, now: datetime, cooldown: timedelta) -> int:
    """Return the seconds until a denial of the same action upon the same resource has cooled down; 0 where it has."""
    denied = consents.denied_since(
        request.subject,
        action=request.action,
        resource_type=request.resource_type,
        resource=request.resource,
        since=now - cooldown,
    )
    if denied is None or denied.ended_at is None:
        return 0
    return max(1, _seconds(denied.ended_at + cooldown - now))


def access_of(request: ConsentRequest, now: datetime) -> AccessRequest:
    """Return what the agent that asked is told of `request`."""
    return AccessRequest(
        request_id=request.request_id,
        status=request.state_at(now).value,
        match_code=request.match_code,
        expires_at=request.expires_at,
        approval_id=request.approval_id,
    )


def consent_entry(
    code: str,
    request: ConsentRequest,
    *,
    actor: EntryValue,
    decision: str = "allow",
    members: Mapping[str, EntryValue] = MappingProxyType({}),
) -> EntryDraft:
    """Return the `consent` entry of something that happened to `request`: ids and digests, never its texts."""
    own: dict[str, EntryValue] = {
        "decision": decision,
        "code": code,
        "principal": Principal(type="Agent", id=request.subject).as_json(),
        "actor": actor,
        "action": request.action,
        "resource": {"type": request.resource_type, "id": request.resource},
        "request_id": request.request_id,
        "scope": request.scope,
        "binding_digest": request.digest,
    }
    if request.correlation_id:
        own["correlation_id"] = request.correlation_id
    return EntryDraft(kind=EntryKind.CONSENT, members={**own, **members})


def _seconds(span: timedelta) -> int:
    return -(-int(span.total_seconds() * 1_000_000) // 1_000_000)
