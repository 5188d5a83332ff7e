"""A WebSocket on a governed path is decided before it is accepted, and ends when what its caller stands on does."""

import asyncio
import json

import pytest

from negotiator.model.governed import Outcome, Refusal, SocketTraffic, Standing, Verdict
from negotiator.model.levels import Level
from negotiator.model.records import OutcomeEnd
from negotiator.model.routes import UnmatchedRules
from negotiator.web.answer import SiteProtocolError
from tests.support.asgi import (
    DECISION_ID,
    FULL_DISK,
    STANDING,
    Front,
    RecordingSite,
    ScriptedEnforcement,
    ScriptedGateway,
    ScriptedStandings,
    Server,
    http_scope,
    rule,
)

CONNECT = {"type": "websocket.connect"}
ACCEPT = {"type": "websocket.accept"}
DENIAL = {"websocket.http.response": {}}
LIVE = (rule("GET /live", "run_task", "live", websocket="connect"),)
EFFECT = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L4, intent_open=True, standing=STANDING)
READ = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L1, standing=STANDING)
SAYS_HI = {"type": "websocket.receive", "text": "hi"}
GOODBYE = {"type": "websocket.disconnect", "code": 1000}
VANISHED = {"type": "websocket.disconnect", "code": 1006}
CLOSE = {"type": "websocket.close", "code": 1000}


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
    assert server.sent == [{"type": "websocket.close", "code": 4403, "reason": ""}]
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
    assert server.sent == ([ACCEPT] if calls else [{"type": "websocket.close", "code": 4403, "reason": ""}])


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


async def echo(scope, receive, send):
    """A site that answers each message twice, once as text and once as bytes, until the client leaves."""
    assert await receive() == CONNECT
    await send({"type": "websocket.accept", "headers": [(b"uaix-level", b"forged")]})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})
        await send({"type": "websocket.send", "bytes": message["text"].encode()})


def opened(site=echo, verdict=EFFECT, **gateway):
    enforcement = ScriptedEnforcement(verdict=verdict)
    return Front(site, ScriptedGateway(routes=LIVE, enforcement=enforcement, **gateway))


def socket_outcome(end, status=101, size=0, came=0, went=0):
    traffic = SocketTraffic(messages_in=came, messages_out=went)
    return Outcome(end=OutcomeEnd(end), status=status, body_bytes=size, body_sha256="", traffic=traffic)


def of_type(server, kind):
    return [message for message in server.sent if message["type"] == f"websocket.{kind}"]


class TestAllowed:
    @pytest.mark.parametrize(("last", "end"), [(GOODBYE, "complete"), (VANISHED, "client_gone")])
    async def test_messages_pass_untouched_and_are_counted_in_one_outcome(self, last, end):
        house = opened()
        server = await house.ask(socket("/live"), Server(CONNECT, SAYS_HI, SAYS_HI, last))
        (request,) = house.enforcement.decided
        assert (request.socket, request.method, request.rule) == (True, "GET", LIVE[0])
        assert [each.get("text") or each["bytes"] for each in of_type(server, "send")] == ["hi", b"hi"] * 2
        assert house.enforcement.outcomes == [socket_outcome(end, size=8, came=2, went=4)]

    async def test_accept_names_the_decision_and_reflects_nothing(self):
        server = await opened().ask(socket("/live"), Server(CONNECT, GOODBYE))
        headers = dict(server.sent[0]["headers"])
        assert len(headers) == len(server.sent[0]["headers"])
        assert (headers[b"uaix-decision"], headers[b"uaix-level"]) == (DECISION_ID.encode(), b"L4")

    async def test_the_decision_stands_before_the_site_is_asked(self):
        async def asks(scope, receive, send):
            assert len(house.enforcement.decided) == 1
            assert server.sent == []
            await send(CLOSE)

        house, server = opened(asks), Server(CONNECT)
        await house.ask(socket("/live"), server)
        assert of_type(server, "close") == [CLOSE]
        assert house.enforcement.outcomes == [socket_outcome("complete", status=403)]

    async def test_the_sites_close_waits_for_the_outcome(self):
        server = Server(CONNECT)
        house = opened(RecordingSite(ACCEPT, CLOSE))
        seen = []
        server.on_send = lambda message: seen.append((message["type"], len(house.enforcement.outcomes)))
        await house.ask(socket("/live"), server)
        assert seen == [("websocket.accept", 0), ("websocket.close", 1)]

    async def test_a_read_is_a_decision_without_an_outcome(self):
        house = opened(verdict=READ)
        server = await house.ask(socket("/live"), Server(CONNECT, SAYS_HI, GOODBYE))
        assert len(of_type(server, "send")) == 2
        assert (len(house.enforcement.decided), house.enforcement.outcomes) == (1, [])

    async def test_the_site_may_deny_with_an_answer_of_its_own(self):
        steps = (
            {"type": "websocket.http.response.start", "status": 409, "headers": []},
            {"type": "websocket.http.response.body", "body": b"full"},
        )
        house = opened(RecordingSite(*steps))
        server = await house.ask(socket("/live", extensions=DENIAL), Server(CONNECT))
        assert (server.status, server.body) == (409, b"full")
        assert (server.header("uaix-decision"), server.header("cache-control")) == (DECISION_ID, "private, no-store")
        assert house.enforcement.outcomes == [socket_outcome("complete", status=409, size=4)]


class TestRefused:
    @pytest.mark.parametrize(
        ("code", "status", "close"),
        [("consent_required", 403, 4403), ("declaration_required", 401, 4401), ("negotiation_expired", 401, 4401)],
    )
    async def test_before_accept_with_the_problem_or_its_close_code(self, code, status, close):
        refusal = Refusal(code=code, detail="no", decision_id=DECISION_ID)
        house = opened(verdict=Verdict(kind="refuse", decision_id=DECISION_ID, refusal=refusal))
        told = await house.ask(socket("/live", extensions=DENIAL), Server(CONNECT))
        assert (told.status, json.loads(told.sent[1]["body"])["code"]) == (status, code)
        closed = await house.ask(socket("/live"), Server(CONNECT))
        assert closed.sent == [{"type": "websocket.close", "code": close, "reason": ""}]
        assert house.enforcement.outcomes == []

    @pytest.mark.parametrize(
        ("target", "headers", "code"),
        [
            ("/live", [(b"host", b"evil.example")], "misdirected_host"),
            ("/live", [(b"idempotency-key", b"")], "header_malformed"),
            ("/live", [(b"content-length", b"5")], "body_malformed"),
            ("/live", [(b"transfer-encoding", b"chunked")], "body_malformed"),
            ("/live?_method=POST", [], "method_override"),
            ("//live", [], "ambiguous_path"),
        ],
    )
    async def test_for_its_form_without_asking_a_policy(self, target, headers, code):
        house = opened()
        server = await house.ask(socket(target, *headers), Server(CONNECT))
        assert of_type(server, "close") == server.sent
        assert house.enforcement.decided == []
        assert [each[1] for each in house.enforcement.refused] == [code]

    async def test_what_cannot_be_recorded_does_not_open(self):
        house = opened()
        house.enforcement.decide_error = FULL_DISK
        server = await house.ask(socket("/live"), Server(CONNECT))
        assert server.sent == [{"type": "websocket.close", "code": 1013, "reason": ""}]

    async def test_of_two_rules_the_one_for_get_speaks_for_sockets(self):
        routes = (rule("POST /live"), *LIVE)
        house = Front(echo, ScriptedGateway(routes=routes))
        await house.ask(socket("/live"), Server(CONNECT, GOODBYE))
        assert [each.rule for each in house.enforcement.decided] == [LIVE[0]]
        house = Front(echo, ScriptedGateway(routes=(rule("POST /live", websocket="connect"),)))
        await house.ask(socket("/live"), Server(CONNECT, GOODBYE))
        assert len(house.enforcement.decided) == 1


class TestFailing:
    async def test_a_site_that_raises_in_an_open_socket(self):
        house = opened(RecordingSite(ACCEPT, LookupError("no table")))
        server = Server(CONNECT)
        with pytest.raises(LookupError):
            await house.ask(socket("/live"), server)
        assert [each["code"] for each in of_type(server, "close")] == [1011]
        assert house.enforcement.outcomes == [socket_outcome("site_error")]

    @pytest.mark.parametrize("step", [None, LookupError("no table")])
    async def test_a_site_that_never_answers_the_handshake_is_answered_for(self, step):
        async def site(scope, receive, send):
            if step:
                raise step

        house, server = opened(site), Server(CONNECT)
        asking = house.ask(socket("/live", extensions=DENIAL), server)
        if step:
            with pytest.raises(LookupError):
                await asking
        else:
            await asking
        assert (server.status, json.loads(server.sent[1]["body"])["code"]) == (500, "site_error")
        assert house.enforcement.outcomes == [socket_outcome("site_error", status=0)]

    async def test_a_site_that_forgets_to_close(self):
        house = opened(RecordingSite(ACCEPT))
        server = await house.ask(socket("/live"), Server(CONNECT))
        assert [each["code"] for each in of_type(server, "close")] == [1011]
        assert house.enforcement.outcomes == [socket_outcome("site_error")]

    async def test_a_message_that_is_none_of_a_sockets(self):
        house, server = opened(RecordingSite(ACCEPT, {"type": "http.response.start", "status": 200})), Server(CONNECT)
        with pytest.raises(SiteProtocolError):
            await house.ask(socket("/live"), server)
        assert house.enforcement.outcomes == [socket_outcome("site_error")]

    async def test_a_server_that_cannot_send_has_lost_the_client(self):
        house = opened(RecordingSite(ACCEPT, {"type": "websocket.send", "text": "hi"}))
        with pytest.raises(OSError, match="left"):
            await house.ask(socket("/live"), Server(CONNECT, send_fails_at=1))
        assert house.enforcement.outcomes == [socket_outcome("client_gone", size=2, went=1)]

    async def test_an_outcome_that_cannot_be_written_is_no_clean_end(self):
        house, server = opened(RecordingSite(ACCEPT, CLOSE)), Server(CONNECT)
        house.enforcement.finish_error = FULL_DISK
        with pytest.raises(type(FULL_DISK)):
            await house.ask(socket("/live"), server)
        assert [each["code"] for each in of_type(server, "close")] == [1011]

    async def test_a_server_that_stops_is_recorded(self):
        house, server = opened(), Server(CONNECT)
        accepted = asyncio.Event()
        server.on_send = lambda _: accepted.set()
        asking = asyncio.ensure_future(house.ask(socket("/live"), server))
        await accepted.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert house.enforcement.outcomes == [socket_outcome("aborted")]


class TestEndedWithItsStanding:
    @pytest.mark.parametrize(
        ("code", "close"), [("negotiation_expired", 4401), ("credentials_invalid", 4401), ("refused", 4403)]
    )
    @pytest.mark.parametrize("verdict", [EFFECT, READ])
    async def test_an_open_socket_is_closed(self, verdict, code, close):
        standings = ScriptedStandings()
        house, server = opened(verdict=verdict, standings=standings), Server(CONNECT, SAYS_HI)
        server.on_send = lambda message: "bytes" in message and standings.codes.update({STANDING: code})
        await house.ask(socket("/live"), server)
        assert of_type(server, "close") == [{"type": "websocket.close", "code": close, "reason": ""}]
        expected = [socket_outcome("aborted", size=4, came=1, went=2)] if verdict is EFFECT else []
        assert house.enforcement.outcomes == expected

    async def test_a_site_that_holds_on_can_send_no_more(self):
        standings = ScriptedStandings(codes={STANDING: "credentials_invalid"})
        refused = []

        async def holds_on(scope, receive, send):
            await send(ACCEPT)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                with pytest.raises(OSError, match="ended"):
                    await send({"type": "websocket.send", "text": "one more"})
                refused.append(True)

        house = opened(holds_on, standings=standings)
        server = await house.ask(socket("/live"), Server(CONNECT))
        assert [each["type"] for each in server.sent] == ["websocket.accept", "websocket.close"]
        assert (refused, [each.end for each in house.enforcement.outcomes]) == ([True], [OutcomeEnd.ABORTED])

    async def test_the_socket_closes_even_while_the_outcome_cannot_be_written(self):
        house = opened(standings=ScriptedStandings(codes={STANDING: "credentials_invalid"}))
        house.enforcement.may_finish = asyncio.Event()
        server, closed = Server(CONNECT), asyncio.Event()
        server.on_send = lambda message: message["type"] == "websocket.close" and closed.set()
        asking = asyncio.ensure_future(house.ask(socket("/live"), server))
        await closed.wait()
        assert house.enforcement.outcomes == []
        house.enforcement.may_finish.set()
        await asking
        assert len(house.enforcement.outcomes) == 1

    async def test_nobody_stays_about_whom_we_cannot_ask(self):
        standings = ScriptedStandings(error=FULL_DISK)
        house = opened(standings=standings)
        server = await house.ask(socket("/live"), Server(CONNECT))
        assert [each["code"] for each in of_type(server, "close")] == [1013]
        assert len(standings.asked) == 2

    async def test_others_stay_and_one_question_speaks_of_all(self):
        house = opened()
        mine, theirs = Standing(negotiation_id="mine"), Standing(negotiation_id="theirs")
        asked = house.gateway.standings.asked
        servers, asking = [], []
        for standing in (theirs, mine):
            house.enforcement.verdict = Verdict(kind="proceed", decision_id=DECISION_ID, standing=standing)
            server, accepted = Server(CONNECT), asyncio.Event()
            server.on_send = lambda _, accepted=accepted: accepted.set()
            servers.append(server)
            asking.append(asyncio.ensure_future(house.ask(socket("/live"), server)))
            await accepted.wait()
        house.gateway.standings.codes[mine] = "negotiation_expired"
        await asking[1]
        assert {mine, theirs} in asked
        assert [each["code"] for each in of_type(servers[1], "close")] == [4401]
        assert (asking[0].done(), of_type(servers[0], "close")) == (False, [])
        asking[0].cancel()

    async def test_nobody_is_asked_about_while_nothing_is_open(self):
        house = opened()
        await house.ask(socket("/live"), Server(CONNECT, GOODBYE))
        asked = len(house.gateway.standings.asked)
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(house.gateway.standings.asked) == asked
