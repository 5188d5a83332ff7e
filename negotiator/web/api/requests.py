"""What the handlers of commands read from a request.

- A body is read by stream and counted, so that neither a chunked one nor a false `Content-Length` passes the limit.
- Only types that hold JSON are taken, in UTF-8 and without a content coding: what we check is what was sent.
- A query flag is `0` or `1`; anything else is refused rather than guessed.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NoReturn
from uuid import UUID

from starlette.requests import Request

from negotiator.errors import RequestError
from negotiator.model.governed import Presented
from negotiator.web.api.ports import Site
from negotiator.web.discovery.endpoints import LANGUAGE, endpoint_named
from negotiator.web.discovery.links import Links
from negotiator.web.headers import accept_header, list_header
from negotiator.web.languages import LANGUAGES, negotiate_language
from negotiator.web.media import negotiate_media
from negotiator.web.presented import parse_presented

__all__ = [
    "asked_language",
    "bounded_body",
    "checked_id",
    "chosen_language",
    "chosen_media",
    "flag",
    "is_local",
    "is_operators",
    "links_of",
    "message_body",
    "presented_by",
    "source_of",
]

_JSON_TYPE = re.compile(r"application/(?:json|[a-z0-9!#$&^_.-]+\+json)")
_FORWARDING_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_FLAGS = {"0": False, "false": False, "1": True, "true": True}


def presented_by(request: Request) -> Presented:
    """Return the claims of the request's headers.

    Raises:
        RequestError: `header_malformed`, `mixed_credentials`, `credentials_invalid`.
    """
    return parse_presented(request.scope, own_route=True)


def chosen_media(request: Request, name: str) -> str:
    """Return the media type, of those that the route `name` offers, that the caller likes best.

    Raises:
        RequestError: `not_acceptable`, listing what exists.
    """
    offers = endpoint_named(name).media
    chosen = negotiate_media(accept_header(request.scope), offers)
    if chosen is None:
        message = f"nothing here has a type that Accept takes; there is {', '.join(offers)}"
        raise RequestError(message, code="not_acceptable")
    return chosen


def asked_language(request: Request) -> str:
    """Return the language that the address asks for; empty where it asks for none.

    Raises:
        RequestError: `query_malformed`.
    """
    given = request.query_params.getlist(LANGUAGE.name)
    if len(given) > 1 or not {*given} <= {*LANGUAGES}:
        message = f"the query parameter {LANGUAGE.name} takes one of {', '.join(LANGUAGES)}, once"
        raise RequestError(message, code="query_malformed")
    return given[0] if given else ""


def chosen_language(request: Request) -> str:
    """Return the language of sentences for people: the one that `Accept-Language` likes best, else English."""
    return negotiate_language(list_header(request.scope, b"accept-language"), tuple(LANGUAGES))


def links_of(request: Request, site: Site, language: str = "") -> Links:
    """Return the addresses of the site, below the mount point that the server was configured with.

    Args:
        request: whose mount point it is.
        site: whose addresses they are.
        language: that the texts behind the links shall be in; empty leaves it to `Accept-Language`.
    """
    mount: str = request.scope.get("root_path", "")
    return Links(public_url=site.public_url or "", prefix=site.prefix, mount=mount, language=language)


async def message_body(request: Request, *, max_bytes: int) -> bytes:
    """Return the bytes of the request's body, which holds JSON.

    Raises:
        RequestError: `unsupported_media_type`, `body_too_large`.
    """
    _check_type(request)
    return await bounded_body(request, max_bytes=max_bytes)


async def bounded_body(request: Request, *, max_bytes: int) -> bytes:
    """Return the bytes of the request's body, of whatever type.

    Raises:
        RequestError: `unsupported_media_type` for a content coding; `body_too_large`.
    """
    _check_coding(request)
    if _announced_bytes(request) > max_bytes:
        _refuse_size(max_bytes)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            _refuse_size(max_bytes)
    return bytes(body)


def _check_coding(request: Request) -> None:
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        message = "send the body without content coding"
        raise RequestError(message, code="unsupported_media_type")


def _check_type(request: Request) -> None:
    essence, _, parameters = request.headers.get("content-type", "").partition(";")
    name, _, charset = parameters.partition("=")
    foreign_text = name.strip().lower() == "charset" and charset.strip().strip('"').lower() not in {"utf-8", "utf8"}
    coded = request.headers.get("content-encoding", "identity").strip().lower() != "identity"
    if coded or foreign_text or not _JSON_TYPE.fullmatch(essence.strip().lower()):
        message = "send JSON in UTF-8 without content coding, as application/json or application/vnd.uaix.keyless+json"
        raise RequestError(message, code="unsupported_media_type")


def _announced_bytes(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 20 else 0


def _refuse_size(max_bytes: int) -> NoReturn:
    message = f"the body is larger than {max_bytes} bytes; send less"
    raise RequestError(message, code="body_too_large")


def flag(request: Request, name: str) -> bool:
    """Return the query flag `name`, given at most once.

    Raises:
        RequestError: `query_malformed`.
    """
    given = request.query_params.getlist(name)
    value = _FLAGS.get(given[0].lower() if given else "0")
    if value is None or len(given) > 1:
        message = f"the query parameter {name} is no flag; write {name}=1 or {name}=0, once"
        raise RequestError(message, code="query_malformed")
    return value


def checked_id(request: Request) -> str:
    """Return the path parameter `id` if it is a canonical UUID, which all our ids are.

    Raises:
        RequestError: `not_found`, as for an id that names nothing.
    """
    text: str = request.path_params["id"]
    try:
        canonical = str(UUID(text))
    except ValueError:
        canonical = ""
    if text != canonical:
        message = "there is nothing here with this id"
        raise RequestError(message, code="not_found")
    return text


def source_of(request: Request) -> str:
    """Return the client's address for budgets; empty where the server knows none."""
    return request.client.host if request.client else ""


def is_operators(request: Request, site: Site) -> bool:
    """Whether this machine asks, or whoever has the operator's token, from wherever."""
    if is_local(request):
        return True
    given = request.headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return scheme.lower() == "bearer" and site.is_operator_token(token.strip(" "))


def is_local(request: Request) -> bool:
    """Whether this machine asks, for itself: a forwarding header says that it asks for somebody else."""
    if any(name in request.headers for name in _FORWARDING_HEADERS):
        return False
    try:
        return ip_address(source_of(request)).is_loopback
    except ValueError:
        return False
