"""What an entry's canonical bytes cost, against the general implementation of RFC 8785.

The subject is all that makes a draft of about 1 KB the line of an entry in its place: the ledger's own members, and
canonical bytes that were checked to be canonical. Hashes and the time's text are the same on either way and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import rfc8785

from bench.measure import Row, ratio
from negotiator.ledger import entry_line
from negotiator.model.entries import EntryDraft, EntryKind

__all__ = ["DRAFT", "rows"]

_TIME = "2026-05-04T03:02:01.000006Z"
_MEMBERS: Mapping[str, Any] = {
    "decision_id": "01890000-0000-7000-8000-000000000000",
    "decision": "deny",
    "code": "consent_required",
    "principal": {"type": "Agent", "id": "agent:01890000-0000-7000-8000-000000000001"},
    "action": "post",
    "resource": {"type": "Resource", "id": "comments"},
    "facts": {
        "principal": {
            "subject": "agent:01890000-0000-7000-8000-000000000001",
            "kind": "api_token",
            "verified": True,
            "max_level": 3,
            "declared_level": 3,
            "can_post_data": True,
        },
        "resource": {"type": "Resource", "name": "comments", "kind": "comment"},
        "request": {
            "method": "POST",
            "route": "POST /comments",
            "has_correlation": True,
            "consents_write": True,
            "fallback_named": True,
        },
    },
    "policies": ["consent.write", "idempotency.write", "correlation.write"],
    "obligations": ["consent", "idempotency_key"],
    "bundle_digest": "b" * 64,
    "engine": "cedarpy 4.12.2",
    "trace_id": "c" * 32,
}
DRAFT = EntryDraft(kind=EntryKind.DECISION, members=_MEMBERS)


def rows() -> Iterator[Row]:
    """Yield the row of the ledger's canonical form."""
    entry = json.loads(_line())
    yield ratio(_line, lambda: rfc8785.dumps(entry), calls=200).row("canonical_chain", bound=0.1)


def _line() -> bytes:
    return entry_line(DRAFT, epoch=1, index=123_456, time=_TIME, project="default", prev="a" * 64)


if __name__ == "__main__":
    for row in rows():
        print(row)
