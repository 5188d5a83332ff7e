"""Headers on their way in and out.

Rules:

- Names are compared in lower case in both directions, also where a server forgot to.
- The site never sees our credentials, nor a header that it could take for our own statement.
- On governed routes the site may use only the extensions `tls` and `websocket.http.response`: all others complete or
  carry answers around us.
- A governed request goes on with exactly one `traceparent`: the caller's trace with a span of ours, or a new trace.
- An allowed governed answer names its decision and level; no shared cache may keep it unless the rule says so.

It does not read values; `presented` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.types import Message, Scope

from negotiator.errors import RequestError
from negotiator.model.governed import Verdict
from negotiator.model.routes import CacheRule
from negotiator.web.tracing import traced

__all__ = [
    "AGENT_HEADER_PREFIX",
    "VARY",
    "accept_header",
    "answer_headers",
    "decorated",
    "governed_scope",
    "has_header",
    "header_lines",
    "is_stripped",
    "list_header",
    "single_header",
    "site_scope",
]

AGENT_HEADER_PREFIX = b"uaix-"
"""Every header of ours begins so."""

_OURS_IN_ANSWERS = frozenset({b"uaix-decision", b"uaix-level", b"uaix-mode", b"idempotent-replayed"})
_STRIPPED = frozenset({b"uaix-negotiation", b"uaix-credential"}) | _OURS_IN_ANSWERS
_CACHE_HEADERS = frozenset({b"cache-control", b"expires", b"surrogate-control"})
_SITE_EXTENSIONS = frozenset({"tls", "websocket.http.response"})

VARY = (
    "UAIX-Negotiation",
    "UAIX-Credential",
    "UAIX-Correlation",
    "UAIX-Expires",
    "UAIX-Consent",
    "UAIX-Evidence",
    "Idempotency-Key",
)
"""The request headers that a governed answer depends on."""


def header_lines(scope: Scope, name: bytes) -> list[bytes]:
    """Return the values of every line of that (lower-case) name, in order."""
    length = len(name)
    return [value for key, value in scope["headers"] if len(key) == length and key.lower() == name]


def single_header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header that may stand once, without outer blanks; None if absent.

    Raises:
        RequestError: `header_malformed`, if it is repeated.
    """
    lines = header_lines(scope, name)
    if len(lines) > 1:
        message = f"the header {name.decode()} stands more than once; send it once"
        raise RequestError(message, code="header_malformed")
    return lines[0].decode("latin-1").strip(" \t") if lines else None


def accept_header(scope: Scope) -> str:
    """Return `Accept`, its lines joined."""
    return list_header(scope, b"accept")


def list_header(scope: Scope, name: bytes) -> str:
    """Return the value of a header that holds a list, its lines joined by commas; empty if absent."""
    return ",".join(line.decode("latin-1") for line in header_lines(scope, name))


def is_stripped(name: bytes) -> bool:
    """Whether the site must not see a request header of that name."""
    return name.lower() in _STRIPPED


def site_scope(scope: Scope) -> Scope:
    """Return the scope as the site may see it: the same object where nothing has to go."""
    headers = scope["headers"]
    for name, _ in headers:
        if name.lower() in _STRIPPED:
            return {**scope, "headers": [line for line in headers if not is_stripped(line[0])]}
    return scope


def governed_scope(scope: Scope, decision_id: str) -> Scope:
    """Return the scope of a governed request as the site may see it."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    kept = {name: value for name, value in extensions.items() if name in _SITE_EXTENSIONS}
    seen = site_scope(scope)
    return {**seen, "headers": traced(seen["headers"], decision_id), "extensions": kept}


def answer_headers(verdict: Verdict) -> list[tuple[bytes, bytes]]:
    """Return the headers of a governed answer. A refusal that was only counted names no decision."""
    lines = []
    if verdict.decision_id:
        lines.append((b"uaix-decision", verdict.decision_id.encode("latin-1", "replace")))
    if verdict.level is not None:
        lines.append((b"uaix-level", verdict.level.name.encode()))
    if verdict.mode == "shadow":
        lines.append((b"uaix-mode", b"shadow"))
    if verdict.replayed:
        lines.append((b"idempotent-replayed", b"true"))
    return lines


def has_header(start: Message, name: bytes) -> bool:
    """Whether a message of the site carries a header of that (lower-case) name."""
    return any(key.lower() == name for key, _ in start.get("headers", ()))


def decorated(start: Message, verdict: Verdict, cache: CacheRule) -> Message:
    """Return the site's `http.response.start` with our headers added and the cache kept out."""
    lines = [(bytes(name), bytes(value)) for name, value in start.get("headers", ())]
    vary = merged_vary([value for name, value in lines if name.lower() == b"vary"], VARY)
    kept = [line for line in lines if not _is_replaced(line[0].lower(), cache)]
    ours = [*answer_headers(verdict), (b"vary", vary)]
    if cache != "site":
        ours.append((b"cache-control", b"private, no-store"))
    return {**start, "headers": kept + ours}


def merged_vary(lines: Sequence[bytes], added: Sequence[str]) -> bytes:
    """Return one `Vary` value with the names of `lines` and `added`, each once; `*` stays alone."""
    names = [name.strip() for line in lines for name in line.decode("latin-1").split(",")]
    if "*" in names:
        return b"*"
    unique = {name.lower(): name for name in reversed([*names, *added]) if name}
    return ", ".join(reversed(unique.values())).encode("latin-1")


def _is_replaced(name: bytes, cache: CacheRule) -> bool:
    if name in _OURS_IN_ANSWERS or name == b"vary":
        return True
    return cache != "site" and (name in _CACHE_HEADERS or name.endswith(b"cdn-cache-control"))
