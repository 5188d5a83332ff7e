"""Lifespan: ours around the site's.

Rules:

- We start before the site and stop after it.
- A start-up that fails, ours or the site's, stops the server: `lifespan.startup.failed` goes on.
- A site without lifespan (it raises or returns without an answer) is fine: we answer in its place.

A server that sends no lifespan is fine, too: nothing here is needed to serve. Source: ASGI lifespan specification 2.0.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Lifespan"]

_log = logging.getLogger(__name__)


class Lifespan:
    """One lifespan of the process.

    Args:
        app: the site.
        startup: makes us ready.
        shutdown: lets us go.
    """

    def __init__(
        self, app: ASGIApp, startup: Callable[[], Awaitable[None]], shutdown: Callable[[], Awaitable[None]]
    ) -> None:
        self._app = app
        self._startup = startup
        self._shutdown = shutdown
        self._begun: Message | None = None
        self._answered = False
        self._ending = False
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run until the server shuts down."""
        self._begun = await receive()
        try:
            await self._startup()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        try:
            await self._run_site(scope, receive, send)
        finally:
            await self._stop()

    async def _run_site(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def site_receive() -> Message:
            begun, self._begun = self._begun, None
            message = begun if begun is not None else await receive()
            self._ending = message["type"] == "lifespan.shutdown"
            return message

        async def site_send(message: Message) -> None:
            self._answered = True
            if message["type"] != "lifespan.startup.complete":
                await self._stop()
            await send(message)

        try:
            await self._app(scope, site_receive, site_send)
        except Exception as error:
            if self._answered:
                raise
            _log.info("the site has no lifespan (it raised %s); serving goes on without it", type(error).__name__)
        if not self._ended:
            await self._run_alone(receive, send)

    async def _run_alone(self, receive: Receive, send: Send) -> None:
        """Answer the server where the site does not, or no longer."""
        if not self._answered:
            await send({"type": "lifespan.startup.complete"})
        if not self._ending:
            await receive()
        await self._stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _stop(self) -> None:
        if not self._ended:
            self._ended = True
            await self._shutdown()
