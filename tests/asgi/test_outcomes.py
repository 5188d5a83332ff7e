"""No answer to an effect is complete before its outcome is recorded, and every effect gets one outcome."""

import asyncio
import hashlib

import pytest

from negotiator.errors import UnavailableError
from negotiator.model.governed import Outcome
from negotiator.model.records import OutcomeEnd
from negotiator.web.answer import MAX_HELD_BYTES, SiteProtocolError
from tests.support.asgi import (
    DECISION_ID,
    FULL_DISK,
    READING,
    Front,
    RecordingSite,
    Server,
    answer,
    body,
    chunk,
    http_scope,
    length,
    rule,
    start,
)

HEAD_RULE = (rule("* /comments"),)


def outcome(end, status, content=b""):
    return Outcome(
        end=OutcomeEnd(end), status=status, body_bytes=len(content), body_sha256=hashlib.sha256(content).hexdigest()
    )


def with_outcomes(house):
    """Return a server that notes beside each message whether the outcome was recorded when it was sent."""
    server = Server()
    server.seen = []
    server.on_send = lambda message: server.seen.append(
        (message["type"].rpartition(".")[2], bool(house.enforcement.outcomes))
    )
    return server


def house_of(*steps, **site):
    house = Front(RecordingSite(*steps, **site))
    house.gateway.routes = HEAD_RULE
    house.__post_init__()
    return house


BEFORE, AFTER = False, True
WHOLE_ANSWERS = {
    "content-length": ("POST", "1.1", answer(b"done"), [("start", AFTER), ("body", AFTER)], b"done"),
    "content-length in pieces": (
        "POST",
        "1.1",
        (start(200, length(4)), chunk(b"do", more=True), chunk(b"ne")),
        [("start", BEFORE), ("body", BEFORE), ("body", AFTER)],
        b"done",
    ),
    "a chunk completes the length": (
        "POST",
        "1.1",
        (start(200, length(4)), chunk(b"do", more=True), chunk(b"ne", more=True), chunk(more=True), chunk()),
        [("start", BEFORE), ("body", BEFORE), ("body", AFTER), ("body", AFTER), ("body", AFTER)],
        b"done",
    ),
    "content-length 0": ("POST", "1.1", answer(b""), [("start", AFTER), ("body", AFTER)], b""),
    "chunked": (
        "POST",
        "1.1",
        (start(), chunk(b"do", more=True), chunk(b"ne", more=True), chunk()),
        [("start", BEFORE), ("body", BEFORE), ("body", BEFORE), ("body", AFTER)],
        b"done",
    ),
    "one chunk": ("POST", "2", (start(), chunk(b"done")), [("start", BEFORE), ("body", AFTER)], b"done"),
    "events": (
        "POST",
        "1.1",
        (
            start(200, (b"content-type", b"text/event-stream")),
            *(chunk(b"data\n\n", more=True) for _ in range(5)),
            chunk(),
        ),
        [("start", BEFORE), *[("body", BEFORE)] * 5, ("body", AFTER)],
        b"data\n\n" * 5,
    ),
    "HEAD": ("HEAD", "1.1", (start(200, length(4)), chunk()), [("start", AFTER), ("body", AFTER)], b""),
    "HEAD with a body": (
        "HEAD",
        "1.1",
        (start(200, length(4)), chunk(b"do", more=True), chunk(b"ne")),
        [("start", AFTER), ("body", AFTER)],
        b"",
    ),
    "204": ("POST", "1.1", (start(204), chunk()), [("start", AFTER), ("body", AFTER)], b""),
    "304": ("POST", "1.1", (start(304, length(9)), chunk()), [("start", AFTER), ("body", AFTER)], b""),
    "HTTP/1.0": (
        "POST",
        "1.0",
        (start(), chunk(b"do", more=True), chunk(b"ne", more=True), chunk()),
        [("start", AFTER), ("body", AFTER), ("body", AFTER), ("body", AFTER)],
        b"done",
    ),
    "HTTP/1.0 with a length": (
        "POST",
        "1.0",
        (start(200, length(4)), chunk(b"do", more=True), chunk(b"ne")),
        [("start", BEFORE), ("body", BEFORE), ("body", AFTER)],
        b"done",
    ),
    "HTTP/1.0, large": (
        "POST",
        "1.0",
        (start(), chunk(b"x" * MAX_HELD_BYTES, more=True), chunk(b"y", more=True), chunk(b"z", more=True), chunk()),
        [("start", BEFORE), ("body", BEFORE), ("body", BEFORE), ("body", BEFORE), ("body", AFTER)],
        b"x" * MAX_HELD_BYTES + b"yz",
    ),
}


@pytest.mark.parametrize("form", WHOLE_ANSWERS)
async def test_what_completes_the_answer_waits_for_its_outcome(form):
    method, version, steps, expected, content = WHOLE_ANSWERS[form]
    house = house_of(*steps)
    server = await house.ask(http_scope(method, "/comments", http_version=version), with_outcomes(house))
    assert server.seen == expected
    assert server.body == content
    assert server.complete
    assert house.enforcement.outcomes == [outcome("complete", steps[0]["status"], content)]


@pytest.mark.parametrize("form", WHOLE_ANSWERS)
async def test_an_unrecorded_outcome_never_looks_like_a_whole_answer(form):
    method, version, steps, expected, _ = WHOLE_ANSWERS[form]
    house = house_of(*steps)
    house.enforcement.finish_error = FULL_DISK
    server = with_outcomes(house)
    if expected[0] == ("start", AFTER):
        await house.ask(http_scope(method, "/comments", http_version=version), server)
        assert (server.status, server.complete, server.json["code"]) == (503, True, "outcome_unknown")
        assert server.json["settle_url"] == f"/uaix/v1/effects/{DECISION_ID}/settle"
        assert server.header("uaix-decision") == DECISION_ID
    else:
        with pytest.raises(UnavailableError):
            await house.ask(http_scope(method, "/comments", http_version=version), server)
        assert server.status == steps[0]["status"]
        assert not server.complete
        assert len(server.seen) == expected.count(("start", BEFORE)) + expected.count(("body", BEFORE))
    assert house.enforcement.outcomes == []


async def test_any_fault_while_the_outcome_is_written_keeps_the_answer_back():
    house = house_of(*answer(b"done"))
    house.enforcement.finish_error = ZeroDivisionError()
    server = await house.ask(http_scope())
    assert (server.status, server.json["code"]) == (503, "outcome_unknown")


async def test_a_site_that_hides_the_failure_cannot_complete_its_answer():
    async def stubborn(scope, receive, send):
        await send(start())
        for message in (chunk(b"done"), start(500), chunk(b"error page")):
            try:
                await send(message)
            except UnavailableError:
                continue

    house = Front(stubborn)
    house.enforcement.finish_error = FULL_DISK
    server = Server()
    with pytest.raises(UnavailableError):
        await house.ask(http_scope(), server)
    assert [message["type"] for message in server.sent] == ["http.response.start"]


class TestSiteError:
    async def test_a_site_that_raises_before_its_head_gets_our_500_and_the_exception_goes_on(self):
        house = house_of(LookupError("no table"))
        server = with_outcomes(house)
        with pytest.raises(LookupError):
            await house.ask(http_scope(), server)
        assert (server.status, server.json["code"], server.complete) == (500, "site_error", True)
        assert server.header("uaix-decision") == DECISION_ID
        assert server.seen == [("start", AFTER), ("body", AFTER)]
        assert b"no table" not in server.body
        assert house.enforcement.outcomes == [outcome("site_error", 0)]

    async def test_also_where_its_head_was_held_back(self):
        house = house_of(start(201, length(4)), LookupError())
        server = Server()
        with pytest.raises(LookupError):
            await house.ask(http_scope(), server)
        assert server.status == 500
        assert house.enforcement.outcomes == [outcome("site_error", 201)]

    async def test_after_its_head_the_connection_is_aborted(self):
        house = house_of(start(), chunk(b"ha", more=True), LookupError())
        server = Server()
        with pytest.raises(LookupError):
            await house.ask(http_scope(), server)
        assert (server.body, server.complete) == (b"ha", False)
        assert house.enforcement.outcomes == [outcome("site_error", 200, b"ha")]

    async def test_a_site_that_returns_without_an_answer(self):
        async def silent():
            return None

        house = house_of(silent)
        server = await house.ask(http_scope())
        assert (server.status, server.json["code"]) == (500, "site_error")
        assert house.enforcement.outcomes == [outcome("site_error", 0)]

    async def test_a_site_that_returns_in_the_middle(self):
        house = house_of(start(), chunk(b"ha", more=True))
        server = Server()
        with pytest.raises(SiteProtocolError):
            await house.ask(http_scope(), server)
        assert not server.complete
        assert house.enforcement.outcomes == [outcome("site_error", 200, b"ha")]

    @pytest.mark.parametrize(
        "steps",
        [
            [chunk(b"no start")],
            [{"type": "http.response.pathsend", "path": "/etc/passwd"}],
            [start(200, length(2)), {"type": "http.response.trailers", "headers": []}],
            [start(200, length(2)), start()],
            [start(200, length(2)), chunk(b"abc")],
            [start(200, length(2)), chunk(b"a")],
            [start(200, length(2), length(2))],
            [start(200, (b"Content-Length", b"two"))],
            [start(103)],
            [start() | {"trailers": True}],
            [{"type": "websocket.accept"}],
        ],
    )
    async def test_a_broken_protocol_is_an_error_of_the_site(self, steps):
        house = house_of(*steps)
        server = Server()
        with pytest.raises(SiteProtocolError):
            await house.ask(http_scope(), server)
        assert (server.status, server.json["code"]) == (500, "site_error")
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.SITE_ERROR]

    async def test_a_site_that_hides_its_own_break_is_found_out(self):
        async def stubborn(scope, receive, send):
            for message in (start(200, length(2)), chunk(b"abc"), chunk(b"ab")):
                try:
                    await send(message)
                except SiteProtocolError:
                    continue

        house = Front(stubborn)
        server = await house.ask(http_scope())
        assert (server.status, server.json["code"]) == (500, "site_error")
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.SITE_ERROR]

    async def test_where_nothing_can_be_recorded_the_503_stands_for_the_500(self):
        house = house_of(LookupError())
        house.enforcement.finish_error = FULL_DISK
        server = Server()
        with pytest.raises(LookupError):
            await house.ask(http_scope(), server)
        assert (server.status, server.json["code"]) == (503, "outcome_unknown")

    async def test_a_read_that_raises_gets_our_500_too(self):
        house = Front(RecordingSite(LookupError()))
        house.enforcement.verdict = READING
        server = Server()
        with pytest.raises(LookupError):
            await house.ask(http_scope("GET", "/pages/a"), server)
        assert (server.status, server.header("uaix-decision")) == (500, DECISION_ID)
        assert house.enforcement.outcomes == []

    async def test_a_read_that_raises_in_the_middle_is_broken_off(self):
        house = Front(RecordingSite(start(), chunk(b"ha", more=True), LookupError()))
        house.enforcement.verdict = READING
        server = Server()
        with pytest.raises(LookupError):
            await house.ask(http_scope("GET", "/pages/a"), server)
        assert (server.status, server.body, server.complete) == (200, b"ha", False)


class TestAfterTheAnswer:
    @pytest.mark.parametrize("steps", [answer(b"done"), (start(500), chunk(b"error page"))])
    async def test_a_later_exception_changes_nothing(self, steps):
        house = house_of(*steps, LookupError())
        server = Server()
        with pytest.raises(LookupError):
            await house.ask(http_scope(), server)
        assert server.complete
        assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.COMPLETE]

    async def test_nor_do_later_messages(self):
        house = house_of(start(), chunk(b"done"), chunk(b"more"), start(500), {"type": "nonsense"})
        server = await house.ask(http_scope())
        assert (server.body, len(server.sent)) == (b"done", 2)
        assert house.enforcement.outcomes == [outcome("complete", 200, b"done")]

    async def test_a_background_task_runs_after_the_answer_was_complete(self):
        seen = []

        async def background():
            seen.append((server.complete, [each.end for each in house.enforcement.outcomes]))

        house = house_of(*answer(b"done"), background)
        server = Server()
        await house.ask(http_scope(), server)
        assert seen == [(True, [OutcomeEnd.COMPLETE])]

    async def test_more_than_the_length_after_the_length_is_an_error_but_the_outcome_stands(self):
        house = house_of(start(200, length(2)), chunk(b"ab", more=True), chunk(b"c"))
        server = Server()
        with pytest.raises(SiteProtocolError):
            await house.ask(http_scope(), server)
        assert server.body == b"ab"
        assert house.enforcement.outcomes == [outcome("complete", 200, b"ab")]


class TestCancelled:
    async def cancelled(self, house, server, reached):
        task = asyncio.ensure_future(house.ask(http_scope(), server))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_a_request_that_the_server_cancels_is_aborted(self):
        reached = asyncio.Event()

        async def wait():
            reached.set()
            await asyncio.Event().wait()

        house = house_of(start(), chunk(b"ha", more=True), wait)
        server = Server()
        await self.cancelled(house, server, reached)
        assert not server.complete
        assert house.enforcement.outcomes == [outcome("aborted", 200, b"ha")]

    async def test_an_outcome_that_is_being_written_is_written_once(self):
        house = house_of(*answer(b"done"))
        house.enforcement.may_finish = asyncio.Event()
        server = Server()
        task = asyncio.ensure_future(house.ask(http_scope(), server))
        await house.enforcement.finishing.wait()
        task.cancel()
        await asyncio.wait([task], timeout=0)
        house.enforcement.may_finish.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert server.sent == []
        assert house.enforcement.outcomes == [outcome("complete", 200, b"done")]

    async def test_cancelled_twice_the_outcome_is_still_written(self):
        house = house_of(*answer(b"done"))
        house.enforcement.may_finish = asyncio.Event()
        task = asyncio.ensure_future(house.ask(http_scope()))
        await house.enforcement.finishing.wait()
        for _ in range(2):
            task.cancel()
            await asyncio.wait([task], timeout=0)
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert house.enforcement.outcomes == []
        house.enforcement.may_finish.set()
        await house.app._outcomes.drained()
        assert house.enforcement.outcomes == [outcome("complete", 200, b"done")]

    async def test_an_abort_that_cannot_be_recorded_is_still_a_cancellation(self):
        reached = asyncio.Event()

        async def wait():
            reached.set()
            await asyncio.Event().wait()

        house = house_of(wait)
        house.enforcement.finish_error = FULL_DISK
        await self.cancelled(house, Server(), reached)

    async def test_a_site_that_gives_up_its_own_send_still_answers(self):
        """Starlette cancels a streaming answer's task group while the outcome is being written."""

        async def impatient(scope, receive, send):
            await send(start())
            sending = asyncio.ensure_future(send(chunk(b"done")))
            await house.enforcement.finishing.wait()
            sending.cancel()
            await asyncio.wait([sending])
            house.enforcement.may_finish.set()

        house = Front(impatient)
        house.enforcement.may_finish = asyncio.Event()
        server = await house.ask(http_scope())
        assert (server.body, server.complete) == (b"done", True)
        assert house.enforcement.outcomes == [outcome("complete", 200, b"done")]


async def test_the_request_body_is_read_before_the_decision_and_the_decision_made_before_the_site():
    order = []
    house = Front(RecordingSite(*answer(b"x")))
    decide = house.enforcement.decide

    async def noted(request):
        order.append(("decide", request.body))
        return await decide(request)

    house.enforcement.decide = noted
    server = Server(body(b"a", more=True), body(b"b"))
    server.on_send = lambda message: order.append(message["type"])
    await house.ask(http_scope(), server)
    assert order == [("decide", b"ab"), "http.response.start", "http.response.body"]
