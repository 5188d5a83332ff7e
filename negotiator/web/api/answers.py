"""What the handlers of commands write.

- Never cached: `Cache-Control: no-store`; `Vary` names what the answer depends on all the same.
- Answers to declarations carry `UAIX-Decision` and, where a level was found, `UAIX-Level`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from negotiator.model.governed import Declared
from negotiator.web.discovery.endpoints import JSON
from negotiator.web.discovery.representations import json_bytes

__all__ = ["COMMAND_HEADERS", "bytes_answer", "declared_headers", "json_answer"]

COMMAND_HEADERS = {
    "Cache-Control": "no-store",
    "Vary": "Accept, Authorization, UAIX-Credential, UAIX-Negotiation",
    "X-Content-Type-Options": "nosniff",
}
"""On every answer that is not a discovery document."""


def declared_headers(declared: Declared) -> dict[str, str]:
    """Return the headers that name the recorded decision, if there is one, and the effective level."""
    level = {"UAIX-Level": declared.level.name} if declared.level is not None else {}
    decision = {"UAIX-Decision": declared.decision_id} if declared.decision_id else {}
    return {**decision, **level}


def json_answer(value: Any, *, status: int = 200) -> Response:  # noqa: ANN401 - any JSON value
    """Return `value` as an answer that no cache keeps."""
    return bytes_answer(json_bytes(value), status=status, media_type=JSON, headers={})


def bytes_answer(body: bytes, *, status: int, media_type: str, headers: Mapping[str, str]) -> Response:
    """Return encoded JSON as an answer that no cache keeps."""
    return Response(body, status_code=status, media_type=media_type, headers={**COMMAND_HEADERS, **headers})
