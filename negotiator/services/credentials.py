"""The text form of API tokens: `uaixt_<id>_<secret><checksum>` of agents, `uaixs_…` of the site itself.

- `id` is the credential's UUID without hyphens; it finds the row and is no secret.
- `secret` is 32 random bytes in URL-safe base 64; only its keyed hash is stored.
- `checksum` is the first six hex digits of the SHA-256 of what stands before it, so that a mistyped or truncated
  token is told apart from a revoked one, and secret scanners can recognise a real one.
- A token of one kind is never taken for one of the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from negotiator.canonical import sha256_hex
from negotiator.errors import RequestError

__all__ = [
    "ApiToken",
    "format_api_token",
    "format_site_token",
    "is_site_token",
    "parse_api_token",
    "parse_site_token",
]

_AGENT: Final = "uaixt_"
_SITE: Final = "uaixs_"
_REST = re.compile(r"(([0-9a-f]{32})_([A-Za-z0-9_-]{43}))([0-9a-f]{6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """A well-formed token; whether it opens anything is for the store to say."""

    credential_id: str
    secret: str = field(repr=False)


def format_api_token(token: ApiToken) -> str:
    """Return the text of an agent's token, which is shown once, when it is made."""
    return _format(_AGENT, token)


def format_site_token(token: ApiToken) -> str:
    """Return the text of a site's token, which is shown once, when it is made."""
    return _format(_SITE, token)


def is_site_token(text: str) -> bool:
    """Whether `text` is meant for a token of the site; it may be malformed all the same."""
    return text.startswith(_SITE)


def parse_api_token(text: str) -> ApiToken:
    """Return the parts of an agent's token.

    Raises:
        RequestError: `credentials_invalid`.
    """
    return _parse(_AGENT, text)


def parse_site_token(text: str) -> ApiToken:
    """Return the parts of a site's token.

    Raises:
        RequestError: `credentials_invalid`.
    """
    return _parse(_SITE, text)


def _format(kind: str, token: ApiToken) -> str:
    stem = f"{kind}{token.credential_id.replace('-', '')}_{token.secret}"
    return stem + _checksum(stem)


def _parse(kind: str, text: str) -> ApiToken:
    match = _REST.fullmatch(text.removeprefix(kind)) if text.startswith(kind) else None
    if match is None or _checksum(kind + match[1]) != match[4]:
        message = "the credential is not a complete API token; copy it again, whole"
        raise RequestError(message, code="credentials_invalid")
    return ApiToken(credential_id=str(UUID(match[2])), secret=match[3])


def _checksum(stem: str) -> str:
    return sha256_hex(stem.encode())[:6]
