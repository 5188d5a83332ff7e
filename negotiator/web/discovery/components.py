"""What the OpenAPI document shares between routes: schemas, security schemes, headers, the problem response.

Schemas of messages are references to the published JSON Schemas, so there is one truth; what only HTTP has (problems,
reports, status) is written here.
"""

from __future__ import annotations

from typing import Any

from negotiator.model.obligations import EVIDENCE_KINDS
from negotiator.model.tasks import TaskState

__all__ = ["HEADERS", "PROBLEM", "SCHEMAS", "SECURITY_SCHEMES", "reference"]

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_TIME: Json = {"type": "string", "format": "date-time"}
_UUID: Json = {"type": "string", "format": "uuid"}
_EVIDENCE_ID: Json = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_LEVEL: Json = {"type": "string", "enum": ["L0", "L1", "L2", "L3", "L4", "L5", "L6"]}


def reference(kind: str, name: str) -> Json:
    """Return a reference to a component."""
    return {"$ref": f"#/components/{kind}/{name}"}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _object(required: tuple[str, ...], **properties: Json) -> Json:
    return {"type": "object", "required": list(required), "properties": properties}


_COUNTED = _object(("said", "shown"), said={"type": "integer"}, shown={"type": "integer"})

SCHEMAS: Json = {
    "Obligation": _object(
        ("id", "title", "remedy", "policies"),
        id=_TEXT,
        title=_TEXT,
        remedy={"type": "string", "description": "how to meet it"},
        policies=_list(_TEXT),
    ),
    "Finding": _object(
        ("code", "severity", "pointer", "message", "remedy", "source"),
        code=_TEXT,
        severity={"type": "string", "enum": ["error", "warning", "info"]},
        pointer={"type": "string", "format": "json-pointer"},
        message=_TEXT,
        remedy=_TEXT,
        source=_TEXT,
    ),
    "NoOp": _object(("code", "url"), code=_TEXT, url={"type": "string", "format": "uri-reference"}),
    "ValidationReport": _object(
        ("valid", "profile", "encoding", "digest", "findings"),
        valid={"type": "boolean"},
        profile={"type": ["string", "null"]},
        encoding={"type": ["string", "null"], "enum": ["keyed", "minified", "keyless", None]},
        digest={"type": ["string", "null"], "description": "SHA-256 of the canonical keyed form, lower-case hex"},
        findings=_list(reference("schemas", "Finding")),
    ),
    "Self": _object(
        ("identity", "negotiations", "scopes"),
        identity=_object(("kind", "subject", "verified"), kind=_TEXT, subject=_TEXT, verified={"type": "boolean"}),
        negotiations=_list(
            _object(
                ("negotiation_id", "effective_level", "expires_at"),
                negotiation_id=_UUID,
                declared_level=_LEVEL,
                effective_level=_LEVEL,
                issued_at=_TIME,
                expires_at=_TIME,
            )
        ),
        scopes=_list(_TEXT),
    ),
    "Effect": _object(
        ("effect_id", "state", "action", "opened_at", "ended_at", "end", "settled"),
        effect_id=_UUID,
        state={"type": "string", "enum": ["running", "ended", "outcome_unknown", "settled"]},
        action=_TEXT,
        opened_at=_TIME,
        ended_at={"type": ["string", "null"], "format": "date-time"},
        end={
            "type": ["string", "null"],
            "enum": ["complete", "client_gone", "site_error", "aborted", "interrupted", None],
        },
        settled={"type": ["string", "null"], "enum": ["done", "not_done", None]},
    ),
    "Settlement": _object(
        ("outcome",),
        outcome={"type": "string", "enum": ["done", "not_done"]},
        note={"type": "string", "maxLength": 500, "description": "how it is known, on one line"},
    ),
    "Proposal": _object(("proposal_id", "state"), proposal_id=_UUID, state=_TEXT),
    "ConsentRequest": _object(
        ("action", "resource", "method", "target"),
        action=_TEXT,
        resource=_TEXT,
        method=_TEXT,
        target={"type": "string", "description": "path and query, as they will be sent"},
        content_type=_TEXT,
        body={"type": "string", "description": "the body, as it will be sent"},
        body_sha256={"type": "string", "description": "instead of body, for bytes that are no text"},
        scope={"type": "string", "enum": ["exact", "template", "resource"], "default": "exact"},
        uses={"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
        expires_at=_TIME,
        reason={"type": "string", "maxLength": 2000},
        correlation_id=_TEXT,
        authority=_TEXT,
        site_account=_TEXT,
        bound_headers={"type": "object", "additionalProperties": _TEXT},
    ),
    "Consent": _object(
        ("id", "status", "status_url", "ticket_url", "cancel_url", "match_code", "expires_at"),
        id=_UUID,
        status={"type": "string", "enum": ["pending", "approved", "denied", "expired", "cancelled", "failed"]},
        status_url={"type": "string", "format": "uri-reference"},
        ticket_url={"type": "string", "format": "uri-reference", "description": "for the human; opens nothing itself"},
        cancel_url={"type": "string", "format": "uri-reference", "description": "POST takes the request back"},
        match_code={"type": "string", "description": "the human sees the same one"},
        expires_at=_TIME,
        scope=_TEXT,
        approval_id=_UUID,
    ),
    "Receipt": _object(
        ("receipt", "signature"),
        receipt={"type": "object"},
        signature={"type": "string", "description": "compact JWS; its payload is the receipt (RFC 8785)"},
    ),
    "TaskRequest": _object(
        ("correlation_id", "expires_at", "timeout_ms", "fallback"),
        correlation_id=_TEXT,
        expires_at=_TIME,
        timeout_ms={"type": "integer", "minimum": 1},
        fallback=_TEXT,
    ),
    "Task": _object(
        ("task_id", "state", "correlation_id", "expires_at", "timeout_ms", "fallback"),
        task_id=_UUID,
        state={"type": "string", "enum": [state.value for state in TaskState]},
        progress={"type": ["integer", "null"], "minimum": 0, "maximum": 100},
        note=_TEXT,
        correlation_id=_TEXT,
        timeout_ms={"type": "integer"},
        fallback=_TEXT,
        outcome={"type": ["string", "null"]},
        final_report={"type": ["string", "null"]},
        decision_id=_UUID,
        created_at=_TIME,
        changed_at=_TIME,
        expires_at=_TIME,
        due_at={"type": ["string", "null"]},
        ended_at={"type": ["string", "null"]},
        status_url=_TEXT,
        final_report_url=_TEXT,
    ),
    "EvidenceLink": _object(
        ("id", "kind", "origin"),
        id=_EVIDENCE_ID,
        kind={"type": "string", "enum": list(EVIDENCE_KINDS)},
        origin={"type": "string", "enum": ["system", "attested", "self"]},
        about=_TEXT,
        created_at=_TIME,
    ),
    "Parity": _object(
        (),
        pages=_list(_object(("page", "twin", "record"), page=_TEXT, twin=_TEXT, record=_TEXT)),
        page=_object(("url", "sha256"), url=_TEXT, sha256=_TEXT),
        twin=_object(("url", "sha256"), url=_TEXT, sha256=_TEXT),
        page_is={"type": "string", "enum": ["whole", "summary"]},
        agrees={"type": "boolean"},
        sentences=_COUNTED,
        details=_COUNTED,
        differences=_list(_object(("pointer", "value"), pointer=_TEXT, value=_TEXT)),
    ),
    "EvidenceShown": _object(
        ("id", "media_type", "bytes", "counts_as"),
        id=_EVIDENCE_ID,
        media_type=_TEXT,
        bytes={"type": "integer"},
        counts_as=_list(reference("schemas", "EvidenceLink")),
    ),
    "Health": _object(
        ("status",),
        status={"type": "string", "enum": ["ok", "degraded", "down"]},
        conditions=_list(
            _object(
                ("code", "state", "detail"),
                code=_TEXT,
                state={"type": "string", "enum": ["degraded", "down"]},
                detail=_TEXT,
            )
        ),
        bundle_digest=_TEXT,
        policies={"type": "integer"},
        mode=_TEXT,
        pass_routes=_list(_TEXT),
    ),
}
"""Schemas of what only HTTP has."""

HEADERS: Json = {
    "UAIX-Decision": {"description": "id of the recorded decision", "schema": _UUID},
    "UAIX-Level": {"description": "the effective level", "schema": _LEVEL},
    "ETag": {"description": "entity tag of this representation", "schema": _TEXT},
    "Location": {"description": "the negotiation", "schema": {"type": "string", "format": "uri-reference"}},
}

SECURITY_SCHEMES: Json = {
    "apiToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "uaixt_<id>_<secret><checksum>",
        "description": "An agent's API token, from the site's operator. On the site's own routes: `UAIX-Credential`.",
    },
    "siteToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "uaixs_<id>_<secret><checksum>",
        "description": "A credential of the site itself, from its operator. It settles effects and nothing else.",
    },
    "negotiation": {
        "type": "apiKey",
        "in": "header",
        "name": "UAIX-Negotiation",
        "description": "The token of a negotiation, together with the credential that it was made with, if any.",
    },
}

PROBLEM: Json = {
    "description": "a refusal that says how to get to yes (RFC 9457)",
    "content": {
        "application/problem+json": {"schema": reference("schemas", "Problem")},
        "application/vnd.uaix.no-op+json": {"schema": reference("schemas", "NoOp")},
        "text/plain": {"schema": _TEXT},
    },
}
