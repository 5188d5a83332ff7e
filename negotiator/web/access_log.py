"""One log line for each answered request: pure ASGI middleware around everything else.

Rules:

- A line has method, path, status, duration, and where they are known the decision's id, the client's level and the
  trace id. It never has a query, a header, a body or a credential.
- It is written when the last byte was handed to the server; of a WebSocket, when the connection is over. An answer that
  was never begun has no status.

It changes nothing that passes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from negotiator.errors import RequestError
from negotiator.web.log_lines import event
from negotiator.web.presented import trace_id_of

__all__ = ["AccessLog"]

_log = logging.getLogger("negotiator.access")

_BEGINNINGS: Final = frozenset({"http.response.start", "websocket.http.response.start", "websocket.accept"})
_SWITCHING, _REFUSED = 101, 403


class AccessLog:
    """Logs what an ASGI application answers.

    Args:
        app: the application.
        seconds: a clock that never goes back.
    """

    def __init__(self, app: ASGIApp, *, seconds: Callable[[], float] = perf_counter) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI scope and log it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        line = _Line(scope, self._seconds)

        async def sending(message: Message) -> None:
            line.note(message)
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                line.write()

        try:
            await self._app(scope, receive, sending)
        finally:
            line.write()


class _Line:
    """What is known of one request."""

    __slots__ = ("_begun_at", "_decision_id", "_level", "_scope", "_seconds", "_status", "_written")

    def __init__(self, scope: Scope, seconds: Callable[[], float]) -> None:
        self._scope = scope
        self._seconds = seconds
        self._begun_at = seconds()
        self._status = 0
        self._decision_id = self._level = ""
        self._written = False

    def note(self, message: Message) -> None:
        """See a message of the answer."""
        if message["type"] == "websocket.close" and not self._status:
            self._status = _REFUSED
        if message["type"] not in _BEGINNINGS:
            return
        self._status = message.get("status", _SWITCHING)
        found = {name.lower(): value for name, value in message.get("headers", ())}
        self._decision_id = found.get(b"uaix-decision", b"").decode("latin-1")
        self._level = found.get(b"uaix-level", b"").decode("latin-1")

    def write(self) -> None:
        """Log it, once."""
        if self._written:
            return
        self._written = True
        members = event(
            method=self._scope.get("method", "GET"),
            path=self._scope["path"],
            status=self._status or "",
            duration_ms=round((self._seconds() - self._begun_at) * 1_000, 3),
            decision_id=self._decision_id,
            level=self._level,
            trace_id=_trace_id(self._scope),
        )
        _log.info("socket" if self._scope["type"] == "websocket" else "request", extra=members)


def _trace_id(scope: Scope) -> str:
    try:
        return trace_id_of(scope)
    except RequestError:
        return ""
