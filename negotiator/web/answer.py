"""The site's `send` while an effect runs: no answer is complete before its outcome is recorded.

What completes the answer for the client waits for the outcome's commit:

    HEAD, 204, 304           the start, held until the site's last message; the site's bytes are dropped
    Content-Length           the chunk that completes it; the start waits for the first body message
    HTTP/1.0, no length      everything, up to 1 MiB: such a client could not see a cut
    else                     the last body message; all before it flows

Rules:

- The outcome is written once, in a task of its own that outlives a cancelled caller.
- If it cannot be written and nothing was sent, the answer is 503 `outcome_unknown`; if something was sent, the
  connection is aborted by raising out of the application.
- A message that breaks the protocol or the announced length raises `SiteProtocolError` and ends as `site_error`.
- What comes after the completing message changes nothing.
- A client that left before the completing message: the outcome is written when the site ends.
- A whole answer goes with the outcome, where one is to be kept; also one that its client did not see.

`bytes` and digest are of what the site produced. It does not know what an outcome is written to.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import NoReturn

from starlette.types import Message, Receive, Scope, Send

from negotiator.model.governed import Outcome
from negotiator.model.records import OutcomeEnd
from negotiator.web.kept import AnswerKeeper
from negotiator.web.live import Exchange

__all__ = ["MAX_HELD_BYTES", "AnswerGuard", "OwnAnswer", "SiteProtocolError"]

MAX_HELD_BYTES = 1_048_576
"""The most that is held of an answer whose end an HTTP/1.0 client could not see."""

OwnAnswer = Callable[[str], Callable[[Scope, Receive, Send], Awaitable[None]]]
"""Makes the answer that we give in the site's place, from a problem code."""

_LENGTH = re.compile(rb"[0-9]{1,18}")


class SiteProtocolError(RuntimeError):
    """The site broke ASGI's rules or its own Content-Length; its answer cannot be completed."""


class _Hold(Enum):
    """How much of the answer waits for the outcome."""

    LAST = auto()
    FIRST_BODY = auto()
    WHOLE = auto()
    BODILESS = auto()


class AnswerGuard:
    """Stands between the site and the server for one effect.

    Args:
        scope: of the request, for its method and HTTP version.
        send: the server's.
        gone: is set when the client has left.
        exchange: is watched while the answer flows.
        write: starts writing an outcome, in a task that nobody but the server's end cancels.
        decorate: adds our headers to the site's start.
        own_answer: what is sent in the site's place.
        stopped: whether we have ended the exchange; the site's messages are dropped then.
        keeps: the most bytes of the answer that are kept; None keeps nothing.
    """

    def __init__(
        self,
        *,
        scope: Scope,
        send: Send,
        gone: asyncio.Event,
        exchange: Exchange,
        write: Callable[[Outcome], asyncio.Task[None]],
        decorate: Callable[[Message], Message],
        own_answer: OwnAnswer,
        stopped: Callable[[], bool],
        keeps: int | None,
    ) -> None:
        self._scope = scope
        self._send = send
        self._gone = gone
        self._exchange = exchange
        self._write = write
        self._decorate = decorate
        self._own_answer = own_answer
        self._stopped = stopped
        self._status = 0
        self._length: int | None = None
        self._hold = _Hold.LAST
        self._held: list[Message] = []
        self._bytes = 0
        self._digest = hashlib.sha256()
        self._keeper = AnswerKeeper(keeps)
        self._complete = False
        self._last_given = False
        self._broken = False
        self._sent = False
        self._outcome: asyncio.Task[None] | None = None
        self._closed = False
        self._failure: Exception | None = None

    async def __call__(self, message: Message) -> None:
        """Take one message of the site: its `send`.

        Raises:
            SiteProtocolError: the site broke the protocol.
            UnavailableError: the outcome could not be written and part of the answer was sent.
        """
        if self._closed or self._last_given or (self._stopped() and not self._complete):
            return
        if self._broken:
            self._break("the site goes on after it broke its answer")
        match message["type"]:
            case "http.response.start":
                await self._start(message)
            case "http.response.body":
                await self._body(message)
            case _:
                self._break("the site sent a message that is no part of an answer")

    async def settle(self, *, failed: bool) -> None:
        """Do what is left when the site has ended.

        Args:
            failed: it raised; the caller raises that on.

        Raises:
            SiteProtocolError: the site returned in the middle of its answer.
            UnavailableError: the outcome could not be written and part of the answer was sent.
        """
        if not self._closed:
            await self._conclude(self._end())
        if not self._closed and not self._gone.is_set():
            await self._last_words(failed=failed)
        if self._failure is not None:
            raise self._failure

    async def abort(self) -> None:
        """Record, while the server cancels the request, that it did; an outcome that is on its way stays."""
        self.cut()
        await self._committed()

    def cut(self) -> None:
        """Begin to record that the exchange was ended, and wait for nothing."""
        if self._outcome is None:
            self._begin(OutcomeEnd.ABORTED)

    async def _start(self, message: Message) -> None:
        if self._status:
            self._break("the site started its answer twice")
        status = message["status"]
        lengths = [value for name, value in message.get("headers", ()) if name.lower() == b"content-length"]
        if status < 200 or message.get("trailers") or len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
            self._break("the site's answer has a status, a length or trailers that cannot be")
        self._status = status
        self._hold = self._holding(status, has_length=bool(lengths))
        self._length = int(lengths[0]) if self._hold is _Hold.FIRST_BODY else None
        self._keeper.start(message)
        self._held.append(self._decorate(message))
        if self._hold is _Hold.LAST:
            await self._flush()

    def _holding(self, status: int, *, has_length: bool) -> _Hold:
        if self._scope["method"].upper() == "HEAD" or status in {204, 304}:
            return _Hold.BODILESS
        if has_length:
            return _Hold.FIRST_BODY
        return _Hold.WHOLE if self._scope.get("http_version") == "1.0" else _Hold.LAST

    async def _body(self, message: Message) -> None:
        if not self._status:
            self._break("the site sent a body before its answer's start")
        chunk, more = message.get("body", b""), message.get("more_body", False)
        completes = self._count(chunk, more=more)
        if self._complete:
            await self._pass_on(message, more=more)
            return
        if self._hold is not _Hold.BODILESS:
            self._held.append(message)
        elif completes:
            self._held.append({"type": "http.response.body", "body": b"", "more_body": False})
        if completes:
            await self._complete_answer(more=more)
        elif self._hold in {_Hold.LAST, _Hold.FIRST_BODY} or self._bytes > MAX_HELD_BYTES:
            await self._flush()

    def _count(self, chunk: bytes, *, more: bool) -> bool:
        """Count what the site produced; return whether it completes the answer."""
        if self._hold is _Hold.BODILESS:
            return not more
        self._bytes += len(chunk)
        if self._length is not None and (self._bytes > self._length or (not more and self._bytes < self._length)):
            self._bytes -= len(chunk)
            self._break("the site's answer is not as long as its Content-Length says")
        self._digest.update(chunk)
        self._keeper.chunk(chunk)
        return not more or self._bytes == self._length

    async def _pass_on(self, message: Message, *, more: bool) -> None:
        """Take an empty message after the length was completed."""
        self._last_given = not more
        self._held.append(message)
        await self._flush()

    async def _complete_answer(self, *, more: bool) -> None:
        self._complete = True
        self._exchange.leave()
        self._last_given = not more
        if self._gone.is_set():
            self._held.clear()
            return
        await self._conclude(OutcomeEnd.COMPLETE)
        await self._flush()
        if self._failure is not None:
            raise self._failure

    async def _conclude(self, end: OutcomeEnd) -> None:
        """Have the outcome written; where it cannot be, keep the answer from completing."""
        if self._outcome is None:
            self._begin(end)
        try:
            await self._committed()
        except Exception as error:  # noqa: BLE001 - whatever kept the outcome from being written, fail closed
            if self._gone.is_set() or not await self._answer_instead("outcome_unknown"):
                self._failure = error

    def _begin(self, end: OutcomeEnd) -> None:
        outcome = Outcome(
            end=end,
            status=self._status,
            body_bytes=self._bytes,
            body_sha256=self._digest.hexdigest(),
            answer=self._keeper.answer() if self._complete else None,
        )
        self._outcome = self._write(outcome)

    async def _committed(self) -> None:
        if self._outcome is not None:
            await asyncio.shield(self._outcome)

    def _end(self) -> OutcomeEnd:
        if self._stopped():
            return OutcomeEnd.ABORTED
        return OutcomeEnd.CLIENT_GONE if self._gone.is_set() else OutcomeEnd.SITE_ERROR

    async def _last_words(self, *, failed: bool) -> None:
        """End an answer that the site did not complete, or send what a cancelled send left behind."""
        if self._complete:
            await self._flush()
            return
        code = "body_too_large" if self._stopped() else "site_error"
        if not await self._answer_instead(code) and not failed:
            message = "the site returned before its answer was complete"
            raise SiteProtocolError(message)

    async def _answer_instead(self, code: str) -> bool:
        """Send our own answer if nothing was sent yet; the site's later messages are dropped. Return whether it was."""
        self._held.clear()
        self._closed = True
        if self._sent:
            return False
        self._sent = True
        await self._own_answer(code)(self._scope, _nothing, self._send)
        return True

    async def _flush(self) -> None:
        if not self._complete:
            self._exchange.watch()
        try:
            while self._held:
                self._sent = True
                await self._send(self._held.pop(0))
        except Exception:
            self._gone.set()
            raise

    def _break(self, message: str) -> NoReturn:
        self._broken = True
        raise SiteProtocolError(message)


async def _nothing() -> Message:
    """Stand in for `receive` where an answer of ours asks for nothing."""
    return {"type": "http.disconnect"}
