"""The site gets exactly the bytes that were decided on, once; limits hold; who leaves early decides nothing."""

import asyncio
import hashlib

import pytest

from negotiator.model.records import OutcomeEnd
from negotiator.web.body import MAX_BODY_IN_MEMORY
from tests.support.asgi import (
    GONE,
    READING,
    Front,
    RecordingSite,
    ScriptedGateway,
    Server,
    answer,
    body,
    chunk,
    http_scope,
    length,
    rule,
    start,
)

SMALL = (rule("POST /comments", max_body_bytes=10),)
LARGE = (rule("POST /comments", max_body_bytes=4_000_000),)
STREAM = (rule("POST /comments", stream_body=True, max_body_bytes=10),)


def front(routes, site=None):
    return Front(site or RecordingSite(), ScriptedGateway(routes=routes))


def pieces(content, size):
    parts = [content[at : at + size] for at in range(0, len(content), size)] or [b""]
    return [body(part, more=True) for part in parts[:-1]] + [body(parts[-1])]


@pytest.mark.parametrize("size", [1, MAX_BODY_IN_MEMORY - 1, MAX_BODY_IN_MEMORY, MAX_BODY_IN_MEMORY + 1, 3_000_000])
@pytest.mark.parametrize("piece", [65_536, 5_000_000])
async def test_the_site_gets_the_same_bytes_once(size, piece):
    content = bytes(range(251)) * (size // 251 + 1)
    content = content[:size]
    house = front(LARGE)
    server = await house.ask(http_scope("POST", "/comments", length(size)), Server(*pieces(content, piece)))
    assert server.status == 200
    assert house.site.body == content
    (request,) = house.enforcement.decided
    assert (request.body_bytes, request.body_sha256) == (size, hashlib.sha256(content).hexdigest())
    assert request.body == (content if size <= MAX_BODY_IN_MEMORY else b"")


@pytest.mark.parametrize("steps", [[body()], [body(more=True), body()], [{"type": "http.request"}]])
async def test_an_empty_body_is_one_empty_message(steps):
    house = front(SMALL)
    await house.ask(http_scope(), Server(*steps))
    assert house.site.received == [body()]
    assert house.enforcement.decided[0].body_sha256 == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("headers", "steps", "code", "status"),
    [
        ([length(11)], [body(b"x" * 11)], "body_too_large", 413),
        ([length(11)], [], "body_too_large", 413),
        ([length(3)], [body(b"x" * 11)], "body_too_large", 413),
        ([(b"transfer-encoding", b"chunked")], [body(b"x" * 6, more=True), body(b"x" * 6)], "body_too_large", 413),
        ([], [body(b"x" * 10, more=True), body(b"x", more=True)], "body_too_large", 413),
        ([length(3)], [body(b"x" * 4)], "body_malformed", 400),
        ([length(5)], [body(b"x" * 4)], "body_malformed", 400),
        ([length(10**17)], [], "body_too_large", 413),
    ],
)
async def test_limits_hold_whatever_the_length_says(headers, steps, code, status):
    house = front(SMALL)
    server = await house.ask(http_scope("POST", "/comments", *headers), Server(*steps))
    assert (house.site.calls, house.enforcement.decided) == (0, [])
    assert (server.status, server.json["code"]) == (status, code)
    assert [each[1] for each in house.enforcement.refused] == [code]


async def test_the_limit_itself_is_allowed():
    house = front(SMALL)
    await house.ask(http_scope("POST", "/comments", length(10)), Server(body(b"x" * 10)))
    assert house.site.body == b"x" * 10


@pytest.mark.parametrize("steps", [[GONE], [body(b"half", more=True), GONE]])
async def test_a_client_that_leaves_while_its_body_is_read_decides_nothing(steps):
    house = front(LARGE)
    server = await house.ask(http_scope(), Server(*steps))
    assert (house.site.calls, server.sent) == (0, [])
    assert (house.enforcement.decided, house.enforcement.refused) == ([], [])
    assert house.gateway.meter.left == 1


class TestFlowing:
    async def test_a_flowing_body_is_decided_on_headers_before_the_first_byte_is_read(self):
        order = []
        house = front(STREAM)
        decide, server = house.enforcement.decide, Server(body(b"ab", more=True), body(b"cd"))
        receive = server.receive

        async def noted_decide(request):
            order.append("decide")
            assert (request.body, request.body_sha256, request.body_bytes) == (b"", "", 0)
            return await decide(request)

        async def noted_receive():
            order.append("receive")
            return await receive()

        house.enforcement.decide = noted_decide
        await house.app(http_scope(), noted_receive, server.send)
        assert order[:3] == ["decide", "receive", "receive"]
        assert house.site.received == [body(b"ab", more=True), body(b"cd")]
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.COMPLETE]

    async def test_a_length_over_the_limit_is_refused_before_the_decision(self):
        house = front(STREAM)
        server = await house.ask(http_scope("POST", "/comments", length(11)), Server())
        assert (house.site.calls, server.status, house.enforcement.decided) == (0, 413, [])

    async def test_more_than_the_limit_ends_the_exchange(self):
        async def reader(scope, receive, send):
            assert await receive() == body(b"x" * 6, more=True)
            assert await receive() == GONE
            assert await receive() == GONE
            await send(start(500))
            await send(chunk(b"the site's own page"))
            raise ConnectionError

        house = front(STREAM, reader)
        server = Server(body(b"x" * 6, more=True), body(b"x" * 6, more=True))
        with pytest.raises(ConnectionError):
            await house.ask(http_scope(), server)
        assert (server.status, server.json["code"]) == (413, "body_too_large")
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.ABORTED]

    async def test_a_read_has_the_same_limit(self):
        async def reader(scope, receive, send):
            while (await receive()).get("more_body", False):
                continue
            await send(start())
            await send(chunk(b"x"))

        house = front((rule("GET /pages/{x}", "read_static", undeclared="limited", max_body_bytes=10),), reader)
        house.enforcement.verdict = READING
        server = await house.ask(http_scope("GET", "/pages/a"), Server(body(b"x" * 11, more=True)))
        assert (server.status, server.json["code"]) == (413, "body_too_large")

    async def test_a_client_that_leaves_while_its_body_flows_is_gone(self):
        async def reader(scope, receive, send):
            assert (await receive())["more_body"]
            assert await receive() == GONE
            assert await receive() == GONE

        house = front(STREAM, reader)
        server = await house.ask(http_scope(), Server(body(b"x", more=True), GONE))
        assert server.sent == []
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.CLIENT_GONE]


class TestDisconnects:
    async def test_after_the_body_the_site_waits_for_the_client_to_leave(self):
        async def patient(scope, receive, send):
            assert await receive() == body(b"hi")
            waiting = [asyncio.ensure_future(receive()) for _ in range(2)]
            await asyncio.wait(waiting, timeout=0)
            assert not any(each.done() for each in waiting)
            server.leave()
            assert await asyncio.gather(*waiting) == [GONE, GONE]

        house = front(LARGE, patient)
        server = Server(body(b"hi"))
        await house.ask(http_scope(), server)
        assert [(each.end, each.status) for each in house.enforcement.outcomes] == [(OutcomeEnd.CLIENT_GONE, 0)]
        assert server.sent == []

    async def test_a_client_that_left_is_noticed_though_the_site_never_asks(self):
        async def leave():
            await server.leave_seen()

        site = RecordingSite(leave, *answer(b"whole"), read_body=False)
        house = front(LARGE, site)
        server = Server()
        await house.ask(http_scope(), server)
        (outcome,) = house.enforcement.outcomes
        assert (outcome.end, outcome.status, outcome.body_bytes) == (OutcomeEnd.CLIENT_GONE, 200, 5)
        assert outcome.body_sha256 == hashlib.sha256(b"whole").hexdigest()

    async def test_the_outcome_of_a_left_client_is_written_when_the_site_ends(self):
        async def leave():
            await server.leave_seen()

        async def still_working():
            assert house.enforcement.outcomes == []

        house = front(LARGE, RecordingSite(start(), leave, chunk(b"all"), still_working))
        server = Server()
        await house.ask(http_scope(), server)
        assert [(each.end, each.body_bytes) for each in house.enforcement.outcomes] == [(OutcomeEnd.CLIENT_GONE, 3)]

    async def test_a_send_that_raises_means_the_client_has_gone(self):
        house = front(LARGE, RecordingSite(start(), chunk(b"a", more=True), chunk(b"b", more=True), chunk()))
        with pytest.raises(OSError, match="left"):
            await house.ask(http_scope(), Server(body(), send_fails_at=2))
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.CLIENT_GONE]

    async def test_a_disconnect_after_the_answer_is_no_event(self):
        async def leave():
            await server.leave_seen()

        house = front(LARGE, RecordingSite(*answer(b"x"), leave))
        server = Server()
        await house.ask(http_scope(), server)
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.COMPLETE]

    async def test_an_unrecorded_outcome_of_a_left_client_is_raised(self):
        async def leave():
            await server.leave_seen()

        house = front(LARGE, RecordingSite(leave))
        house.enforcement.finish_error = LookupError()
        server = Server()
        with pytest.raises(LookupError):
            await house.ask(http_scope(), server)
        assert server.sent == []

    async def test_a_receive_that_fails_means_the_client_has_gone(self, caplog):
        async def broken_receive():
            message = "the transport is closed"
            raise ConnectionError(message)

        async def patient(scope, receive, send):
            assert await receive() == body(b"hi")
            assert await receive() == GONE

        house = front(LARGE, patient)
        server = Server(body(b"hi"))
        receivers = iter([server.receive, broken_receive])

        async def receive():
            return await next(receivers)()

        await house.app(http_scope(), receive, server.send)
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.CLIENT_GONE]
        assert "the transport is closed" in caplog.text

    async def test_nobody_holds_the_servers_receive_when_the_answer_is_done(self):
        house = front(LARGE)
        server = await house.ask(http_scope())
        assert server.receiving == 0
