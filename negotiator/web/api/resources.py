"""All methods of one path.

- GET also answers HEAD: the same head, no body (RFC 9110 section 9.3.2), for refusals, too.
- OPTIONS is 204 with `Allow`; there is no CORS, since no page of another origin has business here.
- Any other method is 405 with `Allow`, raised for the application to word.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BodilessHead", "Handler", "Resource"]

Handler = Callable[[Request], Awaitable[Response]]


class Resource:
    """An ASGI application that dispatches on the method.

    Args:
        handlers: one handler for each method; HEAD and OPTIONS are never among them.
    """

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = dict(handlers)
        head = {"HEAD"} if "GET" in handlers else set()
        self._allow = ", ".join(sorted({*handlers, *head, "OPTIONS"}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": self._allow, "Cache-Control": "no-store"})
        handler = self._handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            raise HTTPException(405, headers={"Allow": self._allow})
        return await handler(request)


class BodilessHead:
    """Wraps an application so that answers to HEAD keep their head and lose their body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app(scope, receive, _without_body(send) if head else send)


def _without_body(send: Send) -> Send:
    async def head_only(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return head_only
