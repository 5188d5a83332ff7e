"""What a governed request must not do, seen before any policy: framing, method overrides, foreign hosts.

Rules:

- One `Host`, and it is one that we serve; without `allowed_hosts` only loopback names, with any port.
- One length: no repeated `Content-Length`, none beside `Transfer-Encoding`, digits only.
- A governed write has one `Content-Type` and no `Trailer`: what comes after the body was not judged.
- No method override, in a header, in the query or in a form: the method that was decided on is the one that runs.

It does not read the body; `body.WholeBody.contains` is given the pattern for it.
Source: RFC 9112 sections 3.2 and 6.3, RFC 9110 section 6.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from starlette.types import Scope

from negotiator.errors import RequestError
from negotiator.web.headers import header_lines, single_header

__all__ = [
    "check_host",
    "check_lengths",
    "check_override",
    "check_write",
    "declared_length",
    "is_form",
    "override_pattern",
    "refuse_override",
]

_OVERRIDE_HEADERS = (b"x-http-method-override", b"x-http-method", b"x-method-override")
_LOOPBACK = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_AUTHORITY = re.compile(r"((?:[A-Za-z0-9_.-]+)|(?:\[[0-9A-Fa-f:.]+\]))(:[0-9]{1,5})?")
_LENGTH = re.compile(rb"[0-9]{1,18}")

_NAME = b"".join(rb"(?:%c|%%%02x)" % (code, code) for code in b"_method")
_IN_FORM = re.compile(rb"(?:\A|[&;?])" + _NAME + rb"(?:[=&;\[]|%5b|\Z)", re.IGNORECASE)
_IN_PARTS = re.compile(rb"""name\s*=\s*["']?_method\b""", re.IGNORECASE)
_FORMS = {"application/x-www-form-urlencoded": _IN_FORM, "multipart/form-data": _IN_PARTS}


def check_host(scope: Scope, allowed_hosts: Sequence[str]) -> None:
    """Refuse a request for an authority that we do not serve.

    Args:
        scope: of the request.
        allowed_hosts: `example.org` (any port), `example.org:8443` (that port) or `*.example.org`; empty means
            loopback names only.

    Raises:
        RequestError: `header_malformed` for a missing, repeated or malformed `Host`, `misdirected_host`.
    """
    host = single_header(scope, b"host")
    found = _AUTHORITY.fullmatch(host) if host else None
    if found is None:
        _refuse("the header host is missing or malformed", code="header_malformed")
    authority, name = found.group(0).lower(), found.group(1).lower()
    served = any(_serves(allowed.lower(), authority, name) for allowed in allowed_hosts)
    if not (served if allowed_hosts else _LOOPBACK.fullmatch(authority)):
        _refuse("this host is not served here; use the site's public address", code="misdirected_host")


def _serves(allowed: str, authority: str, name: str) -> bool:
    if allowed.startswith("*."):
        return name.endswith(allowed[1:]) and name != allowed[1:]
    return allowed in {authority, name}


def check_lengths(scope: Scope) -> None:
    """Refuse a body whose end is not clear.

    Raises:
        RequestError: `header_malformed`.
    """
    lengths = header_lines(scope, b"content-length")
    if len(lengths) > 1 or (lengths and header_lines(scope, b"transfer-encoding")):
        _refuse("the body's length is given twice; send Content-Length or Transfer-Encoding", code="header_malformed")
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        _refuse("the header content-length is no number", code="header_malformed")


def declared_length(scope: Scope) -> int | None:
    """Return the `Content-Length` of a request that passed `check_lengths`."""
    lengths = header_lines(scope, b"content-length")
    return int(lengths[0]) if lengths else None


def check_write(scope: Scope) -> None:
    """Refuse what must not come with a governed write.

    Raises:
        RequestError: `header_malformed`.
    """
    if header_lines(scope, b"trailer"):
        _refuse("a governed write takes no trailers; send no Trailer header", code="header_malformed")
    single_header(scope, b"content-type")


def check_override(scope: Scope) -> None:
    """Refuse a request that names another method in a header or in its query.

    Raises:
        RequestError: `method_override`.
    """
    names = {name.lower() for name, _ in scope["headers"]}
    if not names.isdisjoint(_OVERRIDE_HEADERS) or _IN_FORM.search(scope.get("query_string", b"")):
        refuse_override()


def is_form(content_type: bytes) -> bool:
    """Whether a body of that type is a form without files: it is read for an override even where bodies flow."""
    return content_type.strip().lower().startswith(b"application/x-www-form-urlencoded")


def override_pattern(content_type: str) -> re.Pattern[bytes] | None:
    """Return what finds an override in a body of that type; None where a body of that type has none."""
    return _FORMS.get(content_type.partition(";")[0].strip().lower())


def refuse_override() -> NoReturn:
    """Raise `method_override`."""
    _refuse("the method is overridden; send the request with the method that you mean", code="method_override")


def _refuse(message: str, *, code: str) -> NoReturn:
    raise RequestError(message, code=code)
