"""An agent opens a socket or a stream, loses what it stands on, and stays connected: it does not stay long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route, WebSocketRoute

from negotiator.model.levels import Level
from negotiator.web.live import ExchangeEnded
from tests.support.asgi import Server, http_scope
from tests.support.house import PREFIX, House, house

ROUTES = [
    {"match": "GET /screen", "action": "render_ui", "resource": "screens", "websocket": "connect"},
    {"match": "GET /feed", "action": "read_json", "resource": "feed"},
]
CONNECT = {"type": "websocket.connect"}
HELLO = {"type": "websocket.receive", "text": "hello"}


async def talk(socket: Any) -> None:
    await socket.accept()
    async for text in socket.iter_text():
        await socket.send_text(text.upper())


async def drip(_: Any) -> StreamingResponse:
    async def source() -> AsyncIterator[bytes]:
        yield b"tick"
        await asyncio.Event().wait()

    return StreamingResponse(source())


SITE = Starlette(
    routes=[
        WebSocketRoute("/screen", talk),
        WebSocketRoute("/feed", talk),
        Route("/screen", drip),
        Route("/feed", drip),
    ]
)


@pytest.fixture
def built(tmp_path):
    with house(tmp_path, site=SITE, routes=ROUTES) as made:
        made.negotiator.standing_check_seconds = 0.0
        yield made


async def revoke(built: House, token: str) -> None:
    await asyncio.to_thread(built.negotiator.administration.revoke_agent, "helper", actor="test")


async def end(built: House, token: str) -> None:
    async with built.client() as client:
        me = await client.get(f"{PREFIX}/me", headers={"uaix-negotiation": token, "authorization": built.bearer})
        [own] = me.json()["negotiations"]
        path = f"{PREFIX}/negotiations/{own['negotiation_id']}"
        answer = await client.delete(path, headers={"uaix-negotiation": token, "authorization": built.bearer})
    assert answer.status_code == 204


async def expire(built: House, token: str) -> None:
    built.clock.advance(3601)


LOSSES = [(revoke, 4401), (end, 4401), (expire, 4401)]


def socket_scope(path: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    scope = http_scope("GET", path, *headers, type="websocket", subprotocols=[], extensions={})
    del scope["method"]
    return dict(scope)


async def credentials(built: House) -> tuple[str, list[tuple[bytes, bytes]]]:
    api_token = await asyncio.to_thread(built.agent)
    built.bearer = f"Bearer {api_token}"
    async with built.client() as client:
        token = await built.token(client, Level.L3, api_token)
    return token, [(b"uaix-negotiation", token.encode()), (b"uaix-credential", api_token.encode())]


async def opened(built: House, scope: Any, server: Server, sign: Callable[[Any], bool]) -> asyncio.Task[None]:
    """Start the exchange and return once the site has answered."""
    answered = asyncio.Event()
    server.on_send = lambda message: answered.set() if sign(message) else None
    going = asyncio.ensure_future(built.app(scope, server.receive, server.send))
    await asyncio.wait([going, asyncio.ensure_future(answered.wait())], return_when=asyncio.FIRST_COMPLETED)
    assert answered.is_set(), server.sent
    return going


@pytest.mark.parametrize(("lose", "code"), LOSSES)
@pytest.mark.parametrize("path", ["/screen", "/feed"])
async def test_a_socket(built, lose, code, path):
    token, headers = await credentials(built)
    server = Server(CONNECT, HELLO)
    going = await opened(built, socket_scope(path, *headers), server, lambda m: m["type"] == "websocket.send")
    assert server.sent[1]["text"] == "HELLO"
    await lose(built, token)
    await asyncio.wait_for(going, timeout=30)
    assert server.sent[-1] == {"type": "websocket.close", "code": code, "reason": ""}
    again = Server(CONNECT)
    await built.app(socket_scope(path, *headers), again.receive, again.send)
    assert again.sent == [{"type": "websocket.close", "code": 4401, "reason": ""}]
    if path == "/feed":
        assert [entry["decision"] for entry in built.entries("decision")] == ["allow", "deny"]
        return
    [intent], [outcome] = built.entries("intent"), built.entries("outcome")
    assert intent["decision_id"] == outcome["decision_id"]
    assert intent["request"]["socket"] is True
    counted = {name: outcome[name] for name in ("end", "status", "messages_in", "messages_out", "bytes")}
    assert counted == {"end": "aborted", "status": 101, "messages_in": 1, "messages_out": 1, "bytes": 5}
    assert "body_sha256" not in outcome


@pytest.mark.parametrize(("lose", "_"), LOSSES)
@pytest.mark.parametrize("path", ["/screen", "/feed"])
async def test_a_stream(built, lose, _, path):
    token, headers = await credentials(built)
    server = Server()
    going = await opened(built, http_scope("GET", path, *headers), server, lambda m: bool(m.get("body")))
    await lose(built, token)
    with pytest.raises(ExchangeEnded):
        await asyncio.wait_for(going, timeout=30)
    await built.app._outcomes.drained()
    assert (server.body, server.complete) == (b"tick", False)
    ends = [entry["end"] for entry in built.entries("outcome")]
    assert ends == (["aborted"] if path == "/screen" else [])


async def test_a_changed_cap_closes_with_4403(built):
    _, headers = await credentials(built)
    server = Server(CONNECT, HELLO)
    going = await opened(built, socket_scope("/feed", *headers), server, lambda m: m["type"] == "websocket.send")
    [exchange] = built.app._live._open
    lowered = type(exchange.standing)(
        negotiation_id=exchange.standing.negotiation_id,
        credential_id=exchange.standing.credential_id,
        max_level=Level.L2,
    )
    exchange.standing = lowered
    await asyncio.wait_for(going, timeout=30)
    assert server.sent[-1]["code"] == 4403


async def test_a_store_that_cannot_be_read_lets_nobody_stay(built):
    _, headers = await credentials(built)
    server = Server(CONNECT, HELLO)
    going = await opened(built, socket_scope("/screen", *headers), server, lambda m: m["type"] == "websocket.send")
    await asyncio.to_thread(built.negotiator.stop)
    await asyncio.wait_for(going, timeout=30)
    assert server.sent[-1]["code"] == 1013


async def test_without_a_negotiation_the_socket_does_not_open(built):
    server = Server(CONNECT)
    await built.app(socket_scope("/screen", (b"uaix-credential", b"uaixt_x")), server.receive, server.send)
    assert server.sent == [{"type": "websocket.close", "code": 4401, "reason": ""}]
    assert (built.entries("intent"), len(built.entries("decision"))) == ([], 1)
