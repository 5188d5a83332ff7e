r"""The claims in a request's headers: strict syntax, and nothing more.

Rules:

- Each of our headers stands once, holds only the characters of its grammar and has a bounded length; anything else is
  `header_malformed`. Nothing of the value is echoed.
- `Idempotency-Key` is an RFC 8941 string without parameters, or bare `[A-Za-z0-9_.:~-]{1,255}`.
- `UAIX-Negotiation` is one compact JWS; an unsigned one is well-formed, and worth nothing. `UAIX-Expires` is RFC 3339
  in UTC with `Z`.
- On our own routes the credential comes in `Authorization: Bearer` or `UAIX-Credential`; both are
  `mixed_credentials`. On the site's routes `Authorization` is the site's.
- A credential in a form that we cannot use is refused, never silently anonymous.

It does not check that any claim holds: that is the transaction's work.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from starlette.types import Scope

from negotiator.errors import RequestError
from negotiator.model.governed import Presented
from negotiator.web.headers import single_header

__all__ = ["MAX_EVIDENCE_IDS", "parse_claims", "parse_credentials", "parse_presented", "trace_id_of"]

MAX_EVIDENCE_IDS = 32

_MAX_TOKEN = 4096
_JWS = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_CREDENTIAL = re.compile(r"[A-Za-z0-9_.~+/=-]{1,512}")
_BEARER = re.compile(r"bearer +([A-Za-z0-9_.~+/=-]{1,512})", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_.:~-]{1,255}")
_CORRELATION = re.compile(r"[!#-+\--:<-\[\]-~]{1,255}")  # visible ASCII without " , ; and the backslash
_SF_STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_ESCAPED = re.compile(r"\\(.)")
_EXPIRES = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?Z")
_TRACEPARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{1,256})?"
)
_MAX_KEY = 255


def parse_presented(scope: Scope, *, own_route: bool) -> Presented:
    """Return the claims of a request.

    Args:
        scope: ASGI scope of an HTTP request or a WebSocket handshake.
        own_route: the request is for one of our own paths.

    Raises:
        RequestError: `header_malformed`, `mixed_credentials` or `credentials_invalid`. No other exception escapes.
    """
    return parse_claims(scope, parse_credentials(scope, own_route=own_route))


def parse_credentials(scope: Scope, *, own_route: bool) -> Presented:
    """Return who the request says it comes from: `negotiation` and `credential` only.

    Raises:
        RequestError: as `parse_presented`.
    """
    negotiation = _matched(scope, b"uaix-negotiation", _JWS, longest=_MAX_TOKEN)
    credential = _matched(scope, b"uaix-credential", _CREDENTIAL)
    bearer = _bearer(scope) if own_route else ""
    if credential and bearer:
        message = "both Authorization and UAIX-Credential are present; send one of them"
        raise RequestError(message, code="mixed_credentials")
    return Presented(negotiation=negotiation, credential=credential or bearer)


def parse_claims(scope: Scope, known: Presented) -> Presented:
    """Return `known` with everything else that the headers claim.

    Raises:
        RequestError: `header_malformed`.
    """
    return replace(
        known,
        correlation=_matched(scope, b"uaix-correlation", _CORRELATION),
        expires_at=_expires(scope),
        idempotency_key=_idempotency_key(scope),
        consent=_matched(scope, b"uaix-consent", _NAME),
        evidence=_evidence(scope),
        traceparent=_traceparent(scope),
    )


def _matched(scope: Scope, name: bytes, grammar: re.Pattern[str], *, longest: int = 1024) -> str:
    value = single_header(scope, name)
    if value is None:
        return ""
    if len(value) > longest or not grammar.fullmatch(value):
        raise _malformed(name, "it is empty, too long or has characters that do not belong there")
    return value


def _bearer(scope: Scope) -> str:
    value = single_header(scope, b"authorization")
    if value is None:
        return ""
    found = _BEARER.fullmatch(value)
    if found is None:
        message = "the header authorization holds no bearer token; send 'Bearer' and an API token of this site"
        raise RequestError(message, code="credentials_invalid")
    return found.group(1)


def _idempotency_key(scope: Scope) -> str:
    """Source: RFC 8941 section 3.3.3; draft-ietf-httpapi-idempotency-key-header-07."""
    name = b"idempotency-key"
    value = single_header(scope, name)
    if value is None:
        return ""
    quoted = _SF_STRING.fullmatch(value) if len(value) <= 2 * _MAX_KEY + 2 else None
    key = _ESCAPED.sub(r"\1", quoted.group(1)) if quoted else value
    if not 0 < len(key) <= _MAX_KEY or not (quoted or _NAME.fullmatch(key)):
        raise _malformed(name, "it must be one quoted string or 1 to 255 of the characters A-Z a-z 0-9 _ . : ~ -")
    return key


def _expires(scope: Scope) -> datetime | None:
    name = b"uaix-expires"
    value = single_header(scope, name)
    if value is None:
        return None
    found = _EXPIRES.fullmatch(value)
    if found is None:
        raise _malformed(name, "it must be a time in UTC such as 2030-01-31T12:00:00Z")
    *whole, fraction = found.groups(default="")
    year, month, day, hour, minute, second = map(int, whole)
    try:
        return datetime(year, month, day, hour, minute, second, int(f"{fraction:0<6}"[:6]), tzinfo=UTC)
    except ValueError:
        raise _malformed(name, "there is no such time") from None


def _evidence(scope: Scope) -> tuple[str, ...]:
    name = b"uaix-evidence"
    value = single_header(scope, name)
    if value is None:
        return ()
    ids = [part.strip(" \t") for part in value.split(",", MAX_EVIDENCE_IDS)]
    if len(ids) > MAX_EVIDENCE_IDS or not all(map(_NAME.fullmatch, ids)):
        raise _malformed(name, f"it must be 1 to {MAX_EVIDENCE_IDS} evidence ids, separated by commas")
    return tuple(dict.fromkeys(ids))


def trace_id_of(scope: Scope) -> str:
    """Return the trace id of `traceparent`; empty where there is none.

    Raises:
        RequestError: `header_malformed`.
    """
    return Presented(traceparent=_traceparent(scope)).trace_id


def _traceparent(scope: Scope) -> str:
    """Source: W3C Trace Context section 3.2; a later version may have more after the flags."""
    name = b"traceparent"
    value = single_header(scope, name)
    if value is None:
        return ""
    found = _TRACEPARENT.fullmatch(value)
    if found is None or (found.group(1) == "00" and found.group(3)):
        raise _malformed(name, "it must be a W3C trace context such as 00-<32 hex>-<16 hex>-01")
    return value


def _malformed(name: bytes, why: str) -> RequestError:
    return RequestError(f"the header {name.decode()} cannot be used: {why}", code="header_malformed")
