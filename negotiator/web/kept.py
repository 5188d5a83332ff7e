"""Answers of the site that are kept for an idempotency key, and given again.

Rules:

- Kept are the status, the headers of `KEPT_HEADERS` in their order, and the body, up to the bytes that the verdict
  names; a larger answer is not kept at all, never a part of it.
- `Set-Cookie`, challenges, and whatever else is made for one exchange is never kept.
- Only whole answers are kept, whatever their status.
- Given again, an answer carries the decision, level and cache headers of the repetition, and `Idempotent-Replayed`.

It does not decide whether an answer may be given again.
"""

from __future__ import annotations

from typing import Final

from starlette.responses import Response
from starlette.types import Message

from negotiator.model.governed import Verdict
from negotiator.model.records import SiteAnswer, StoredAnswer
from negotiator.web.headers import decorated

__all__ = ["KEPT_HEADERS", "AnswerKeeper", "replayed"]

KEPT_HEADERS: Final = frozenset(
    {
        b"allow",
        b"content-digest",
        b"content-disposition",
        b"content-encoding",
        b"content-language",
        b"content-location",
        b"content-range",
        b"content-security-policy",
        b"content-type",
        b"etag",
        b"last-modified",
        b"link",
        b"location",
        b"preference-applied",
        b"referrer-policy",
        b"repr-digest",
        b"retry-after",
        b"vary",
        b"x-content-type-options",
        b"x-frame-options",
    }
)
"""The headers of an answer that say what it is and how it must be read."""

_MAX_HEADER_BYTES: Final = 16_384
_BODILESS: Final = frozenset({204, 304})


class AnswerKeeper:
    """Collects one answer of the site.

    Args:
        keeps: the most bytes of a body that are kept; None keeps nothing.
    """

    def __init__(self, keeps: int | None) -> None:
        self._keeps = keeps
        self._status = 0
        self._headers: tuple[tuple[str, str], ...] = ()
        self._body = bytearray()

    def start(self, message: Message) -> None:
        """Take the site's `http.response.start`."""
        if self._keeps is None:
            return
        self._status = message["status"]
        lines = [(bytes(name).lower(), bytes(value)) for name, value in message.get("headers", ())]
        kept = [(name, value) for name, value in lines if name in KEPT_HEADERS]
        if sum(len(name) + len(value) for name, value in kept) > _MAX_HEADER_BYTES:
            self._give_up()
        self._headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in kept)

    def chunk(self, content: bytes) -> None:
        """Take bytes that the site produced."""
        if self._keeps is None:
            return
        if len(self._body) + len(content) > self._keeps:
            self._give_up()
        else:
            self._body += content

    def answer(self) -> SiteAnswer | None:
        """Return the answer, now that it is whole; None where it is not kept."""
        if self._keeps is None:
            return None
        return SiteAnswer(status=self._status, headers=self._headers, body=bytes(self._body))

    def _give_up(self) -> None:
        self._keeps = None
        self._body.clear()


def replayed(verdict: Verdict, answer: StoredAnswer, *, method: str) -> Response:
    """Return a stored answer as the answer to another request with the same key."""
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    start = decorated({"type": "http.response.start", "status": answer.status, "headers": lines}, verdict, "private")
    response = Response(answer.body, status_code=answer.status)
    has_length = method != "HEAD" and answer.status not in _BODILESS
    length = [(b"content-length", str(len(answer.body)).encode())] if has_length else []
    response.raw_headers = [*start["headers"], *length]
    return response
