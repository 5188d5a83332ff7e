"""A WebSocket on a governed path is refused before it is accepted; the refusal is recorded."""

import json

import pytest

from negotiator.model.routes import UnmatchedRules
from tests.support.asgi import DECISION_ID, FULL_DISK, Front, RecordingSite, ScriptedGateway, Server, http_scope

CONNECT = {"type": "websocket.connect"}
ACCEPT = {"type": "websocket.accept"}
DENIAL = {"websocket.http.response": {}}


def socket(target, *headers, **more):
    scope = http_scope("GET", target, *headers, type="websocket", subprotocols=[], **more)
    del scope["method"]
    return scope


def front(**gateway):
    return Front(RecordingSite(ACCEPT), ScriptedGateway(**gateway))


@pytest.mark.parametrize("target", ["/comments", "/comments/", "/pages/about"])
async def test_the_server_answers_403_with_the_problem_where_it_can(target):
    house = front()
    server = await house.ask(socket(target, extensions=DENIAL), Server(CONNECT))
    assert [message["type"] for message in server.sent] == [
        "websocket.http.response.start",
        "websocket.http.response.body",
    ]
    assert (house.site.calls, server.status) == (0, 403)
    assert json.loads(server.sent[1]["body"])["code"] == "refused"
    assert server.header("uaix-decision") == DECISION_ID
    ((request, code, _),) = house.enforcement.refused
    assert (request.method, request.target, code) == ("GET", target, "refused")


async def test_else_the_socket_is_closed_before_accept():
    house = front()
    server = await house.ask(socket("/comments"), Server(CONNECT))
    assert server.sent == [{"type": "websocket.close", "code": 1008, "reason": ""}]
    assert (house.site.calls, len(house.enforcement.refused)) == (0, 1)


async def test_an_ambiguous_path_is_refused_too():
    house = front()
    server = await house.ask(socket("//comments", extensions=DENIAL), Server(CONNECT))
    assert (house.site.calls, server.status) == (0, 400)


async def test_what_cannot_be_recorded_is_refused_all_the_same():
    house = front()
    house.enforcement.decide_error = FULL_DISK
    server = await house.ask(socket("/comments", extensions=DENIAL), Server(CONNECT))
    assert (house.site.calls, server.status) == (0, 503)


async def test_a_malformed_claim_does_not_open_a_socket():
    house = front()
    server = await house.ask(socket("/comments", (b"uaix-negotiation", b"<x>")), Server(CONNECT))
    assert [message["type"] for message in server.sent] == ["websocket.close"]


@pytest.mark.parametrize(("headers", "calls"), [([], 1), ([(b"uaix-correlation", b"c")], 0)])
async def test_without_a_rule_a_socket_is_an_unsafe_request(headers, calls):
    house = front()
    server = await house.ask(socket("/chat", *headers), Server(CONNECT))
    assert house.site.calls == calls
    assert server.sent == ([ACCEPT] if calls else [{"type": "websocket.close", "code": 1008, "reason": ""}])


async def test_an_open_socket_of_the_site_sees_no_credentials():
    house = front(unmatched=UnmatchedRules(unsafe="pass"))
    await house.ask(socket("/chat", (b"uaix-credential", b"x")), Server(CONNECT))
    assert [name for name, _ in house.site.scopes[0]["headers"]] == [b"host"]


async def test_a_socket_on_our_own_paths_is_our_apis_affair_on_our_host_only():
    house = front()
    await house.ask(socket("/uaix/v1/x"), Server(CONNECT))
    server = await house.ask(socket("/uaix/v1/x", (b"host", b"evil.example")), Server(CONNECT))
    assert [message["type"] for message in server.sent] == ["websocket.close"]
    assert house.site.calls == 0
