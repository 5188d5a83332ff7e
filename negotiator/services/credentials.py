"""The text form of an API token: `uaixt_<id>_<secret><checksum>`.

- `id` is the credential's UUID without hyphens; it finds the row and is no secret.
- `secret` is 32 random bytes in URL-safe base 64; only its keyed hash is stored.
- `checksum` is the first six hex digits of the SHA-256 of what stands before it, so that a mistyped or truncated
  token is told apart from a revoked one, and secret scanners can recognise a real one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from uuid import UUID

from negotiator.canonical import sha256_hex
from negotiator.errors import RequestError

__all__ = ["ApiToken", "format_api_token", "parse_api_token"]

_PATTERN = re.compile(r"(uaixt_([0-9a-f]{32})_([A-Za-z0-9_-]{43}))([0-9a-f]{6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """A well-formed API token; whether it opens anything is for the store to say."""

    credential_id: str
    secret: str = field(repr=False)


def format_api_token(token: ApiToken) -> str:
    """Return the text that is shown once, when the token is made."""
    stem = f"uaixt_{token.credential_id.replace('-', '')}_{token.secret}"
    return stem + _checksum(stem)


def parse_api_token(text: str) -> ApiToken:
    """Return the parts of an API token.

    Raises:
        RequestError: `credentials_invalid`.
    """
    match = _PATTERN.fullmatch(text)
    if match is None or _checksum(match[1]) != match[4]:
        message = "the credential is not a complete API token; copy it again, whole"
        raise RequestError(message, code="credentials_invalid")
    return ApiToken(credential_id=str(UUID(match[2])), secret=match[3])


def _checksum(stem: str) -> str:
    return sha256_hex(stem.encode())[:6]
