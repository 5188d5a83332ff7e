"""What of an answer goes with its outcome to be given again, and how it is given again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from negotiator.model.governed import Verdict
from negotiator.model.levels import Level
from negotiator.model.records import OutcomeEnd, SiteAnswer, StoredAnswer
from tests.support.asgi import (
    DECISION_ID,
    Front,
    RecordingSite,
    Server,
    answer,
    chunk,
    http_scope,
    length,
    rule,
    start,
)

KEEPS = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L3, intent_open=True, keeps=10)
TYPE = (b"Content-Type", b"text/plain")


def house_of(*steps, verdict=KEEPS):
    house = Front(RecordingSite(*steps))
    house.gateway.routes = (rule("* /comments"),)
    house.enforcement.verdict = verdict
    house.__post_init__()
    return house


def kept(status, body=b"", *headers):
    return SiteAnswer(status=status, headers=headers, body=body)


@pytest.mark.parametrize(
    ("method", "steps", "expected"),
    [
        ("POST", answer(b"done", TYPE), kept(200, b"done", ("content-type", "text/plain"))),
        ("POST", (start(201), chunk(b"do", more=True), chunk(b"ne")), kept(201, b"done")),
        ("POST", (start(500), chunk(b"error page")), kept(500, b"error page")),
        ("POST", (start(429, (b"retry-after", b"9")), chunk()), kept(429, b"", ("retry-after", "9"))),
        ("POST", (start(204), chunk()), kept(204)),
        ("HEAD", (start(200, length(99), TYPE), chunk(b"dropped")), kept(200, b"", ("content-type", "text/plain"))),
        ("POST", (start(200), chunk(b"0123456789")), kept(200, b"0123456789")),
        ("POST", (start(200), chunk(b"0123456789", more=True), chunk(b"x")), None),
        ("POST", (start(200), chunk(b"0123456789x")), None),
        ("POST", (start(200, (b"link", b"l" * 20_000)), chunk(b"x")), None),
    ],
)
async def test_a_whole_answer_goes_with_its_outcome(method, steps, expected):
    house = house_of(*steps)
    await house.ask(http_scope(method))
    [outcome] = house.enforcement.outcomes
    assert (outcome.end, outcome.answer) == (OutcomeEnd.COMPLETE, expected)


async def test_headers_of_one_exchange_are_not_kept_and_repeated_ones_stay_apart():
    lines = [
        (b"Set-Cookie", b"a=b"),
        (b"link", b"</a>"),
        (b"WWW-Authenticate", b"Basic"),
        (b"Link", b"</b>"),
        (b"connection", b"close"),
        (b"cache-control", b"public"),
        (b"uaix-decision", b"forged"),
        (b"location", b"/\xe9"),
    ]
    house = house_of(start(200, *lines), chunk(b"x"))
    await house.ask(http_scope())
    [outcome] = house.enforcement.outcomes
    assert outcome.answer.headers == (("link", "</a>"), ("link", "</b>"), ("location", "/é"))


@pytest.mark.parametrize(
    "steps", [(start(200), chunk(b"do", more=True), LookupError()), (start(200, length(4)), chunk(b"do"))]
)
async def test_an_answer_that_the_site_did_not_complete_is_not_kept(steps):
    house = house_of(*steps)
    with pytest.raises(Exception):  # noqa: B017 - the site's own fault, or what it broke
        await house.ask(http_scope())
    [outcome] = house.enforcement.outcomes
    assert (outcome.end, outcome.answer) == (OutcomeEnd.SITE_ERROR, None)


async def test_without_a_key_nothing_is_kept():
    house = house_of(*answer(b"done"), verdict=replace(KEEPS, keeps=None))
    await house.ask(http_scope())
    assert house.enforcement.outcomes[0].answer is None


async def test_a_whole_answer_is_kept_though_its_client_has_left():
    server = Server()

    async def client_leaves():
        await server.leave_seen()

    house = house_of(client_leaves, start(200, TYPE), chunk(b"done"))
    await house.ask(http_scope(), server)
    [outcome] = house.enforcement.outcomes
    assert (outcome.end, outcome.status) == (OutcomeEnd.CLIENT_GONE, 200)
    assert outcome.answer == kept(200, b"done", ("content-type", "text/plain"))


async def test_a_request_that_the_server_cancels_keeps_nothing_of_half_an_answer():
    house = house_of(start(200), chunk(b"do", more=True), asyncio.Event().wait)
    asked = asyncio.ensure_future(house.ask(http_scope()))
    for _ in range(20):
        await asyncio.sleep(0)
    asked.cancel()
    await asyncio.wait([asked])
    [outcome] = house.enforcement.outcomes
    assert (outcome.end, outcome.answer) == (OutcomeEnd.ABORTED, None)


def replay(status=200, body=b"done", *headers):
    stored = StoredAnswer(
        decision_id="first", status=status, headers=headers, body=body, stored_at=datetime(2030, 1, 1, tzinfo=UTC)
    )
    return Verdict(kind="replay", decision_id=DECISION_ID, level=Level.L3, replayed=True, answer=stored)


async def test_an_answer_is_given_again_without_calling_the_site():
    headers = (("content-type", "text/plain"), ("link", "</a>"), ("link", "</b>"), ("vary", "Cookie"))
    house = house_of(verdict=replay(201, b"done", *headers))
    house.gateway.routes = (rule("POST /comments", cache="site"),)
    house.__post_init__()
    server = await house.ask(http_scope())
    assert (house.site.calls, server.status, server.body) == (0, 201, b"done")
    assert server.headers("link") == ["</a>", "</b>"]
    assert server.header("uaix-decision") == DECISION_ID
    assert server.header("idempotent-replayed") == "true"
    assert server.header("cache-control") == "private, no-store"
    assert server.header("vary").startswith("Cookie, UAIX-Negotiation")
    assert server.header("content-length") == "4"
    assert house.enforcement.outcomes == []


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("POST", 204), ("POST", 304)])
async def test_an_answer_without_a_body_has_no_length_that_it_does_not_keep(method, status):
    server = await house_of(verdict=replay(status, b"")).ask(http_scope(method))
    assert (server.status, server.body, server.header("content-length")) == (status, b"", None)
