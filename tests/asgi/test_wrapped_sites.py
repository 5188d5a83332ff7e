"""Starlette, FastAPI, Django and a plain callable behind us: each keeps what its framework promises."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path as django_path
from fastapi import BackgroundTasks, FastAPI
from fastapi import Request as FastAPIRequest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from negotiator.model.records import OutcomeEnd
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.asgi import ScriptedGateway, Server, body, http_scope, rule
from tests.support.routers import django_application

TENANT = ContextVar("tenant", default="nobody")
ROUTES = (rule("POST /echo"), rule("POST /stream"), rule("POST /endless"))
BODY = bytes(range(256)) * 3000
"""More than is kept in memory."""


@dataclass
class Seen:
    """What the site's handlers noted."""

    later: list[bool] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    ticks: Callable[[], None] = lambda: None
    complete: Callable[[], bool] = lambda: False

    def after(self) -> None:
        self.later.append(self.complete())

    async def three(self) -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"%d" % number

    async def for_ever(self) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"tick"
                self.ticks()
                await asyncio.sleep(0)
        finally:
            self.ended.set()


def described(content: bytes) -> str:
    return f"{TENANT.get()} {len(content)} {hashlib.sha256(content).hexdigest()}"


def starlette(seen: Seen) -> ASGIApp:
    async def echo(request: Request) -> PlainTextResponse:
        return PlainTextResponse(described(await request.body()), background=BackgroundTask(seen.after))

    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(seen.three())

    async def endless(_: Request) -> StreamingResponse:
        return StreamingResponse(seen.for_ever())

    handlers = {"/echo": echo, "/stream": stream, "/endless": endless}
    return Starlette(routes=[Route(path, handler, methods=["POST"]) for path, handler in handlers.items()])


def fastapi(seen: Seen) -> ASGIApp:
    app = FastAPI()

    @app.post("/echo", response_class=PlainTextResponse)
    async def echo(request: FastAPIRequest, tasks: BackgroundTasks) -> str:
        tasks.add_task(seen.after)
        return described(await request.body())

    @app.post("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(seen.three())

    @app.post("/endless")
    async def endless() -> StreamingResponse:
        return StreamingResponse(seen.for_ever())

    return app


def django(seen: Seen) -> ASGIApp:
    async def echo(request: HttpRequest) -> HttpResponse:
        return HttpResponse(described(request.body))

    async def stream(_: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(seen.three())

    async def endless(_: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(seen.for_ever())

    return django_application(
        [django_path("echo", echo), django_path("stream", stream), django_path("endless", endless)]
    )


def plain(seen: Seen) -> ASGIApp:
    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        content = b""
        more = True
        while more:
            message = await receive()
            content += message["body"]
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        leaving = asyncio.ensure_future(receive())
        match scope["path"]:
            case "/echo":
                await send({"type": "http.response.body", "body": described(content).encode()})
                seen.after()
            case "/stream":
                async for chunk in seen.three():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body"})
            case "/endless":
                async for chunk in seen.for_ever():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    if leaving.done():
                        assert leaving.result() == {"type": "http.disconnect"}
                        seen.ended.set()
                        break
        leaving.cancel()

    return site


SITES = {"Starlette": starlette, "FastAPI": fastapi, "Django": django, "plain": plain}


class Outside:
    """A middleware around us that sets a context variable."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        TENANT.set("acme")
        await self.app(scope, receive, send)


@pytest.fixture(params=SITES)
def built(request: pytest.FixtureRequest) -> tuple[str, Seen, ScriptedGateway, ASGIApp]:
    seen, gateway = Seen(), ScriptedGateway(routes=ROUTES)
    return request.param, seen, gateway, Outside(NegotiatorMiddleware(SITES[request.param](seen), negotiator=gateway))


async def test_the_exact_bytes_the_context_and_the_work_after_the_answer(built):
    name, seen, gateway, app = built
    server = Server(body(BODY[:1000], more=True), body(BODY[1000:]))
    seen.complete = lambda: server.complete
    length = (b"content-length", str(len(BODY)).encode())
    await app(http_scope("POST", "/echo", length), server.receive, server.send)
    assert server.body.decode() == f"acme {len(BODY)} {hashlib.sha256(BODY).hexdigest()}"
    assert seen.later == ([] if name == "Django" else [True])
    assert [each.end for each in gateway.enforcement.outcomes] == [OutcomeEnd.COMPLETE]


async def test_a_stream_arrives_in_its_pieces(built):
    _, _, gateway, app = built
    server = Server()
    await app(http_scope("POST", "/stream"), server.receive, server.send)
    pieces = [message["body"] for message in server.sent[1:] if message.get("body")]
    assert (pieces, server.complete) == ([b"0", b"1", b"2"], True)
    assert [each.body_bytes for each in gateway.enforcement.outcomes] == [3]


async def test_a_later_disconnect_ends_the_site(built):
    _, seen, gateway, app = built
    server = Server()
    seen.ticks = server.leave
    await asyncio.wait_for(app(http_scope("POST", "/endless"), server.receive, server.send), timeout=30)
    await asyncio.wait_for(seen.ended.wait(), timeout=30)
    assert not server.complete
    assert [each.end for each in gateway.enforcement.outcomes] == [OutcomeEnd.CLIENT_GONE]


async def test_with_or_without_lifespan_the_server_starts_and_stops(built):
    _, _, gateway, app = built
    server = Server({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    scope: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    await app(scope, server.receive, server.send)
    assert [message["type"] for message in server.sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert gateway.life == ["startup", "shutdown"]
