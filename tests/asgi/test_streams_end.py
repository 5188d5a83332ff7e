"""An answer that flows is cut off when what its caller stands on no longer holds; a complete one is left alone."""

import asyncio

import pytest

from negotiator.model.governed import Verdict
from negotiator.model.levels import Level
from negotiator.model.records import OutcomeEnd
from negotiator.web.live import ExchangeEnded
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
    chunk,
    http_scope,
    length,
    rule,
    start,
)

EFFECT = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L4, intent_open=True, standing=STANDING)
READ = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L1, standing=STANDING)
REVOKED = {STANDING: "credentials_invalid"}
ROUTES = (rule("* /stream"),)


async def for_ever():
    await asyncio.Event().wait()


async def turns():
    """Let everybody else go on for a while."""
    for _ in range(50):
        await asyncio.sleep(0)


def house_of(*steps, verdict, **standings):
    enforcement = ScriptedEnforcement(verdict=verdict)
    gateway = ScriptedGateway(routes=ROUTES, enforcement=enforcement, standings=ScriptedStandings(**standings))
    return Front(RecordingSite(*steps), gateway)


@pytest.mark.parametrize("verdict", [EFFECT, READ])
@pytest.mark.parametrize("steps", [[start(200)], [start(200, length(9)), chunk(b"tick", more=True)]])
@pytest.mark.parametrize("standings", [{"codes": REVOKED}, {"error": FULL_DISK}])
async def test_a_stream_is_aborted(verdict, steps, standings):
    house, server = house_of(*steps, for_ever, verdict=verdict, **standings), Server()
    with pytest.raises(ExchangeEnded):
        await house.ask(http_scope("POST", "/stream"), server)
    await house.app._outcomes.drained()
    assert server.sent
    assert not server.complete
    assert not house.site.finished
    assert [each.end for each in house.enforcement.outcomes] == ([OutcomeEnd.ABORTED] if verdict is EFFECT else [])


@pytest.mark.parametrize("verdict", [EFFECT, READ])
@pytest.mark.parametrize("headers", [[], [length(4)]])
async def test_work_after_the_answer_goes_on(verdict, headers):
    house = house_of(start(200, *headers), chunk(b"done"), turns, verdict=verdict, codes=REVOKED)
    server = await house.ask(http_scope("POST", "/stream"))
    assert (server.body, server.complete, house.site.finished) == (b"done", True, True)
    assert len(house.enforcement.outcomes) == (1 if verdict is EFFECT else 0)


async def test_an_effect_that_has_not_begun_to_answer_is_not_torn_away():
    house = house_of(turns, start(200, length(4)), chunk(b"done"), verdict=EFFECT, codes=REVOKED)
    server = await house.ask(http_scope("POST", "/stream"))
    assert (server.status, server.body, house.gateway.standings.asked) == (200, b"done", [])


async def test_a_site_that_swallows_the_end_is_aborted_all_the_same():
    async def swallows():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return chunk(b"and the rest")

    house, server = house_of(start(200), swallows, verdict=EFFECT, codes=REVOKED), Server()
    with pytest.raises(ExchangeEnded):
        await house.ask(http_scope("POST", "/stream"), server)
    await house.app._outcomes.drained()
    assert (server.body, server.complete) == (b"", False)
    assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.ABORTED]


async def test_the_sites_own_timeout_is_the_sites():
    house = house_of(start(200), TimeoutError("slow table"), verdict=EFFECT)
    with pytest.raises(TimeoutError, match="slow table"):
        await house.ask(http_scope("POST", "/stream"))
    assert [each.end for each in house.enforcement.outcomes] == [OutcomeEnd.SITE_ERROR]


async def test_a_caller_that_presented_nothing_has_nothing_to_lose():
    anonymous = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L0)
    house = house_of(start(200), turns, chunk(b"done"), verdict=anonymous)
    server = await house.ask(http_scope("GET", "/stream"))
    assert (server.body, house.gateway.standings.asked) == (b"done", [])
