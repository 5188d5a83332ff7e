"""From a document's value to bytes, and from bytes to a conditional answer.

- One value, several representations: JSON is the value itself, HTML is rendered from it and from nothing else, and
  Markdown and plain text from the HTML, so none can say what its JSON twin does not.
- An entity tag is strong and belongs to one representation: the first 32 hex digits of the SHA-256 of its type,
  language and bytes.

Negotiation of the media type happens before; `web/media.py` does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from negotiator.canonical import sha256_hex

__all__ = ["Representation", "from_json", "json_bytes", "json_value", "matches_etag", "represented"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """The bytes of a document in one media type and language; `language` is empty where nobody speaks."""

    media_type: str
    body: bytes
    language: str = ""

    @property
    def etag(self) -> str:
        """The strong entity tag of this representation, with its quotes (RFC 9110 section 8.8.3)."""
        named = f"{self.media_type}\n{self.language}\n".encode()
        return f'"{sha256_hex(named + self.body)[:32]}"'


def json_bytes(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Return compact JSON in UTF-8; members keep their order, since readers are people, too."""
    return orjson.dumps(value, default=_as_plain)


def json_value(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return `value` as a reader of its JSON would see it: plain dictionaries and lists."""
    return from_json(json_bytes(value))


def from_json(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of JSON that we made ourselves; what a client sends goes through `canonical.decode_json`."""
    return orjson.loads(data)


def _as_plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, frozenset)):
        return sorted(value) if isinstance(value, frozenset) else list(value)
    message = f"{type(value).__name__} is no JSON value"
    raise TypeError(message)


def represented(body: bytes, media_type: str, language: str = "") -> Representation:
    """Return `body` as a representation; text types say that they are UTF-8."""
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    return Representation(media_type=media_type + charset, body=body, language=language)


def matches_etag(if_none_match: str, etag: str) -> bool:
    """Tell whether `If-None-Match` names `etag`, compared weakly (RFC 9110 section 13.1.2)."""
    named = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in named or etag in named
