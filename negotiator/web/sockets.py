"""One allowed WebSocket at the site: what passes is counted, and how it ended is recorded.

Rules:

- The decision, and the intent of an effect, stand before the site is asked to accept; accept carries our headers.
- Messages pass untouched. The one outcome of an effect tells how many, and the bytes that the site sent.
- `complete`: the site closed, or denied with an answer of its own, or the client closed with 1000. `client_gone`: the
  client left otherwise before that. `site_error`: the site raised, returned without closing, or broke the protocol.
  `aborted`: ended by us or by the server.
- What closes the socket for the client waits for the outcome. Only an end by us does not wait: the socket closes first.
- It is ended, with 4401 or 4403, when what its caller stands on no longer holds; with 1013 when that cannot be known.

It does not decide, and does not look into messages.
"""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Send

from negotiator.model.governed import Outcome, SocketTraffic
from negotiator.model.records import OutcomeEnd
from negotiator.web.answer import SiteProtocolError
from negotiator.web.enforcement_port import Enforcement
from negotiator.web.exchange import Admitted, OutcomeTasks, SiteCalls, finished
from negotiator.web.headers import decorated, governed_scope
from negotiator.web.live import Exchange, ExchangeEnded, LiveExchanges
from negotiator.web.problems import close_code, problem_kind, send_early

__all__ = ["SocketCalls"]

_GOODBYE = 1000
_FAILED = 1011
_SWITCHED = 101
_REFUSED = 403


class SocketCalls:
    """Opens sockets.

    Args:
        app: the site.
        site: for answers in its place.
        outcomes: outcomes under way.
        live: sockets that are open.
    """

    def __init__(self, app: ASGIApp, site: SiteCalls, outcomes: OutcomeTasks, live: LiveExchanges) -> None:
        self._app = app
        self._site = site
        self._outcomes = outcomes
        self._live = live

    async def call(self, admitted: Admitted, enforcement: Enforcement, receive: Receive, send: Send) -> None:
        """Let the site have the socket; return or raise as it does."""
        exchange = self._live.exchange(admitted.verdict.standing)
        socket = _Socket(
            admitted,
            enforcement=enforcement,
            outcomes=self._outcomes,
            exchange=exchange,
            receive=receive,
            send=send,
        )
        try:
            async with exchange:
                await self._app(
                    governed_scope(admitted.scope, admitted.verdict.decision_id), socket.receive, socket.send
                )
        except ExchangeEnded as ended:
            await socket.end_with(close_code(problem_kind(ended.code).status))
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):  # a failed outcome is logged by its task; the cancellation goes on
                await socket.record(OutcomeEnd.ABORTED)
            raise
        except Exception:
            await self._settle(socket, admitted, receive, send)
            raise
        else:
            await self._settle(socket, admitted, receive, send)

    async def _settle(self, socket: _Socket, admitted: Admitted, receive: Receive, send: Send) -> None:
        """Record the end of a socket that the site has left, and close it if it is still there."""
        code = "site_error"
        try:
            await socket.record(socket.ending(OutcomeEnd.SITE_ERROR))
        except Exception:  # noqa: BLE001 - logged by its task; the client must not take this for a clean end
            code = "outcome_unknown"
        if socket.status:
            await socket.close_failed()
        elif not socket.left:
            await send_early(self._site.own_answer(admitted, code), admitted.scope, receive, send)


class _Socket:
    """The site's `receive` and `send` for one socket.

    Attributes:
        status: 101 once accepted, the status of a denial by the site, 0 before either.
        left: the client has closed, or vanished.
    """

    def __init__(
        self,
        admitted: Admitted,
        *,
        enforcement: Enforcement,
        outcomes: OutcomeTasks,
        exchange: Exchange,
        receive: Receive,
        send: Send,
    ) -> None:
        self._admitted = admitted
        self._enforcement = enforcement
        self._outcomes = outcomes
        self._exchange = exchange
        self._receive = receive
        self._send = send
        self._messages_in = 0
        self._messages_out = 0
        self._bytes = 0
        self._said_goodbye = False
        self._closed = False
        self._outcome: asyncio.Task[None] | None = None
        self.status = 0
        self.left = False

    async def receive(self) -> Message:
        """Return the server's next message: the site's `receive`."""
        message = await self._receive()
        if message["type"] == "websocket.receive":
            self._messages_in += 1
        elif message["type"] == "websocket.disconnect":
            self.left = True
            self._said_goodbye = message.get("code") == _GOODBYE
            self._exchange.leave()
        return message

    async def send(self, message: Message) -> None:
        """Take one message of the site: its `send`.

        Raises:
            SiteProtocolError: it is no message of a socket.
            OSError: we have ended the socket.
            UnavailableError: the outcome could not be recorded, so the socket does not end well.
        """
        if self._exchange.code:
            error = "the socket has been ended"
            raise OSError(error)
        match message["type"]:
            case "websocket.accept":
                self.status = _SWITCHED
                self._exchange.watch()
                message = decorated(message, self._admitted.verdict, "site")
            case "websocket.send":
                self._count(message)
            case "websocket.http.response.start":
                self.status = message["status"]
                message = decorated(message, self._admitted.verdict, self._admitted.request.cache)
            case "websocket.http.response.body":
                self._bytes += len(message.get("body", b""))
                if not message.get("more_body", False):
                    await self._complete()
            case "websocket.close":
                self.status = self.status or _REFUSED
                await self._complete()
            case _:
                error = "the site sent a message that is none of a socket's"
                raise SiteProtocolError(error)
        try:
            await self._send(message)
        except Exception:
            self.left = True
            raise

    def ending(self, otherwise: OutcomeEnd) -> OutcomeEnd:
        """How it ended: as the client did, if that left first; else `otherwise`."""
        if not self.left:
            return otherwise
        return OutcomeEnd.COMPLETE if self._said_goodbye else OutcomeEnd.CLIENT_GONE

    async def record(self, end: OutcomeEnd) -> None:
        """Have the outcome written, unless one is on its way; a read has none.

        Raises:
            UnavailableError: it could not be written.
        """
        self._begin(end)
        if self._outcome is not None:
            await asyncio.shield(self._outcome)

    async def end_with(self, close: int) -> None:
        """Close the socket from our side, then wait for the outcome; one that fails is logged by its task."""
        self._begin(OutcomeEnd.ABORTED)
        await self._close(close)
        with contextlib.suppress(Exception):
            await self.record(OutcomeEnd.ABORTED)

    async def close_failed(self) -> None:
        """Close a socket that the site has left open."""
        if self.status == _SWITCHED:
            await self._close(_FAILED)

    async def _complete(self) -> None:
        self._exchange.leave()
        try:
            await self.record(self.ending(OutcomeEnd.COMPLETE))
        except Exception:
            await self.close_failed()
            raise
        self._closed = True

    async def _close(self, close: int) -> None:
        """Close towards the client, once. A client that has left meanwhile is no fault."""
        if self._closed or self.left:
            return
        self._closed = True
        with contextlib.suppress(OSError):
            await self._send({"type": "websocket.close", "code": close, "reason": ""})

    def _count(self, message: Message) -> None:
        self._messages_out += 1
        self._bytes += len(message.get("bytes") or (message.get("text") or "").encode())

    def _begin(self, end: OutcomeEnd) -> None:
        if self._outcome is not None or not self._admitted.verdict.intent_open:
            return
        outcome = Outcome(
            end=end,
            status=self.status,
            body_bytes=self._bytes,
            body_sha256="",
            traffic=SocketTraffic(messages_in=self._messages_in, messages_out=self._messages_out),
        )
        self._outcome = self._outcomes.start(finished(self._enforcement, self._admitted.verdict, outcome))
