r"""What a person is shown of a consent request, as one canonical structure with a digest.

Rules:

- It is plain text: whoever puts it on a page escapes markup there. What cannot be seen, or makes text look like other
  text (control, format and bidirectional characters, odd spaces), stands as `\u{202e}`; a backslash stands doubled, so
  that nobody can write such an escape themselves.
- A text is shown whole, or cut at a stated place with the number of characters left out.
- A body that cannot be shown says so and why, with its size and digest. It is never guessed at.
- Whoever decides sends back the digest of what they saw. Any change of the structure changes it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from negotiator.canonical import digest
from negotiator.model.consents import ConsentRequest
from negotiator.model.facts import ResourceFacts
from negotiator.model.times import format_time

__all__ = ["MAX_SHOWN_CHARACTERS", "display_digest", "display_of", "shown_text"]

MAX_SHOWN_CHARACTERS: Final = 20_000
"""More of one text is not shown; the rest is counted."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_PLAIN = frozenset({" ", "\n"})


def shown_text(text: str, *, most: int = MAX_SHOWN_CHARACTERS) -> dict[str, Any]:
    """Return `{text, characters, left_out}`; `text` has at most `most` characters of the original, each escaped."""
    kept = text[:most]
    return {
        "text": "".join(map(_visible, kept)),
        "characters": len(text),
        "left_out": len(text) - len(kept),
    }


def _visible(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character in _PLAIN or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"\\u{{{ord(character):x}}}"


def display_of(
    request: ConsentRequest, *, agent_name: str, operated_by: str, resource: ResourceFacts
) -> Mapping[str, Any]:
    """Return what a person is shown.

    Args:
        request: what was asked for.
        agent_name: under which the operator registered the agent.
        operated_by: the person who runs it; empty where nobody is named.
        resource: what it acts upon, as it is configured now.
    """
    values = request.values
    headers = values.get("bound_headers", {})
    return {
        "format": 1,
        "request_id": request.request_id,
        "match_code": request.match_code,
        "state": request.state.value,
        "agent": {
            "name": shown_text(agent_name),
            "subject": shown_text(request.subject),
            "operated_by": shown_text(operated_by),
        },
        "action": request.action,
        "resource": {
            "type": resource.type,
            "name": shown_text(resource.name),
            "kind": shown_text(resource.kind),
            "protected": resource.protected,
            "two_person": resource.two_person,
        },
        "scope": request.scope,
        "uses": request.uses,
        **{name: shown_text(_text(values, name)) for name in _TEXTS},
        "bound_headers": [
            [shown_text(name), shown_text(value)]
            for name, value in sorted(headers.items() if isinstance(headers, Mapping) else ())
        ],
        "body": _shown_body(request),
        "reason": shown_text(request.reason),
        "correlation_id": shown_text(request.correlation_id),
        "created_at": format_time(request.created_at),
        "expires_at": format_time(request.expires_at),
        "not_after": format_time(request.not_after) if request.not_after else "",
    }


_TEXTS = ("authority", "method", "target", "content_type", "content_encoding", "site_account")


def display_digest(display: Mapping[str, Any]) -> str:
    """Return the digest of a display."""
    return digest(display)


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name, "")
    return value if isinstance(value, str) else ""


def _shown_body(request: ConsentRequest) -> dict[str, Any]:
    """Return `{kind, sha256, bytes}` and, for the kind `text`, what `shown_text` gives."""
    sha256 = _text(request.values, "body")
    known = {"sha256": sha256, "bytes": request.body_bytes}
    if not sha256:
        return {"kind": "any" if "body" not in request.values else "none", **known}
    if request.body_bytes == 0:
        return {"kind": "none", **known}
    if request.body_bytes < 0:
        return {"kind": "not_showable", "why": "only its digest was given", **known}
    if not request.body:
        return {"kind": "not_showable", "why": "it is too large to be shown", **known}
    text = _readable(request.body, _text(request.values, "content_type"))
    if text is None:
        return {"kind": "not_showable", "why": "it is not text in UTF-8", **known}
    return {"kind": "text", **known, **shown_text(text)}


def _readable(body: bytes, content_type: str) -> str | None:
    """Return the body as text; None where it is another encoding or binary."""
    _, _, parameters = content_type.lower().partition("charset=")
    charset = parameters.partition(";")[0].strip().strip('"')
    if charset not in {"", "utf-8", "utf8", "us-ascii"} or b"\x00" in body:
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None
