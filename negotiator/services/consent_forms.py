"""What an agent posts to ask for consent, read strictly: unknown members and wrong types are refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, NoReturn, cast

from negotiator.canonical import decode_json, sha256_hex
from negotiator.errors import RequestError, quoted
from negotiator.model.consents import SCOPES, Scope
from negotiator.model.names import normalised_name

__all__ = ["MAX_REASON_CHARACTERS", "MAX_USES", "Wanted", "parse_wanted"]

MAX_REASON_CHARACTERS: Final = 2_000
MAX_USES: Final = 100

_TARGET = re.compile(r"/[!-~]{0,4095}")
_METHOD = re.compile(r"[A-Z]{1,16}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CORRELATION = re.compile(r"[!#-+\--:<-\[\]-~]{1,255}")
_HEADER_TEXT = re.compile(r"[ -~]{0,256}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A consent request as it was posted.

    Attributes:
        resource: normalised as route rules are.
        body: None where only a digest, or nothing, was given.
        body_sha256: empty where nothing was given.
        authority: empty means that of the request itself.
    """

    action: str
    resource: str
    method: str
    target: str
    content_type: str = ""
    body: bytes | None = None
    body_sha256: str = ""
    scope: Scope = "exact"
    uses: int = 1
    expires_at: datetime | None = None
    reason: str = ""
    correlation_id: str = ""
    authority: str = ""
    site_account: str = ""
    bound_headers: Mapping[str, str]


def parse_wanted(data: bytes) -> Wanted:
    """Return what `data` asks for.

    Raises:
        RequestError: `consent_invalid`, with a pointer; as `decode_json` does.
    """
    document = decode_json(data)
    if not isinstance(document, dict):
        _refuse("", "send a JSON object")
    for name in document:
        if name not in _MEMBERS:
            _refuse(f"/{name}" if name.isascii() else "", f"{quoted(name)} is no member of a consent request")
    read = {name: _MEMBERS[name](f"/{name}", value) for name, value in document.items()}
    for name in ("action", "resource", "method", "target"):
        if not read.get(name):
            _refuse(f"/{name}", f"{name} is needed")
    body, given = read.get("body"), read.get("body_sha256", "")
    if body is not None:
        own = sha256_hex(body)
        if given not in {"", own}:
            _refuse("/body_sha256", "it is not the digest of body; send one of them")
        read["body_sha256"] = own
    read["bound_headers"] = read.get("bound_headers", MappingProxyType({}))
    return Wanted(**read)


def _refuse(pointer: str, message: str) -> NoReturn:
    raise RequestError(message, code="consent_invalid", pointer=pointer)


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str, Any], str]:
    def read(pointer: str, value: Any) -> str:  # noqa: ANN401 - any JSON
        if not isinstance(value, str) or not pattern.fullmatch(value):
            _refuse(pointer, f"write {what}")
        return value

    return read


def _resource(pointer: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    name = normalised_name(value) if isinstance(value, str) and len(value) <= 256 else ""
    if not name:
        _refuse(pointer, "write the name of a resource of this site")
    return name


def _body(pointer: str, value: Any) -> bytes:  # noqa: ANN401 - any JSON
    if not isinstance(value, str):
        _refuse(pointer, "write the body as it will be sent, as one string; for bytes that are no text, body_sha256")
    return value.encode("utf-8")


def _scope(pointer: str, value: Any) -> Scope:  # noqa: ANN401 - any JSON
    if value not in SCOPES:
        _refuse(pointer, f"write one of {', '.join(SCOPES)}")
    return cast("Scope", value)


def _uses(pointer: str, value: Any) -> int:  # noqa: ANN401 - any JSON
    if type(value) is not int or not 1 <= value <= MAX_USES:
        _refuse(pointer, f"write a number from 1 to {MAX_USES}")
    return value


def _time(pointer: str, value: Any) -> datetime:  # noqa: ANN401 - any JSON
    try:
        if isinstance(value, str) and _TIME.fullmatch(value):
            return datetime.fromisoformat(value).astimezone(UTC)
    except ValueError:
        pass
    _refuse(pointer, "write a time in UTC such as 2030-01-31T12:00:00Z")


def _reason(pointer: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    if not isinstance(value, str) or len(value) > MAX_REASON_CHARACTERS:
        _refuse(pointer, f"write a text of at most {MAX_REASON_CHARACTERS} characters")
    return value


def _headers(pointer: str, value: Any) -> Mapping[str, str]:  # noqa: ANN401 - any JSON
    fits = isinstance(value, dict) and len(value) <= 32
    if not fits or not all(isinstance(each, str) and _HEADER_TEXT.fullmatch(each) for each in value.values()):
        _refuse(pointer, "write an object of header names and values, at most 32")
    return {name.lower(): each for name, each in value.items()}


_MEMBERS: Mapping[str, Callable[[str, Any], Any]] = {
    "action": _matching(re.compile(r"[a-z_]{1,32}"), "one of the actions"),
    "resource": _resource,
    "method": _matching(_METHOD, "a method in upper case"),
    "target": _matching(_TARGET, "the path and query as they will be sent"),
    "content_type": _matching(_HEADER_TEXT, "the Content-Type as it will be sent"),
    "body": _body,
    "body_sha256": _matching(_SHA256, "a SHA-256 in lower-case hex"),
    "scope": _scope,
    "uses": _uses,
    "expires_at": _time,
    "reason": _reason,
    "correlation_id": _matching(_CORRELATION, "a correlation id as in UAIX-Correlation"),
    "authority": _matching(re.compile(r"[a-z0-9.:\[\]_-]{1,255}"), "a host in lower case, as in Host"),
    "site_account": _matching(_HEADER_TEXT, "the account of the site that it is done with"),
    "bound_headers": _headers,
}
