"""Serve an ASGI application on a free loopback port for as long as a `with` block lasts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from negotiator.errors import UnavailableError

__all__ = ["served"]

_START_SECONDS = 20.0


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Give the server's base URL, e.g. `http://127.0.0.1:40123`.

    Raises:
        UnavailableError: `server_not_started`.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(uvicorn.Config(app, log_level="error", lifespan="on", server_header=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        if not server.ready.wait(_START_SECONDS) or not server.started:
            message = "the demo server did not start; the lines above say why"
            raise UnavailableError(message, code="server_not_started")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=_START_SECONDS)


class _Server(uvicorn.Server):
    """Tells when start-up is over, whether it went well or not."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()
