"""Fifty identical requests at once, over both hosts of a site: the site is called once, and all hear of that one."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import islice
from pathlib import Path

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from negotiator.model.levels import Level
from tests.support.house import House, house

FIFTY = 50


def slow_site(calls: list[str], leave: asyncio.Event) -> ASGIApp:
    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        calls.append(scope["path"])
        await leave.wait()
        await PlainTextResponse("done")(scope, receive, send)

    return site


async def headers_of(built: House) -> dict[str, str]:
    api_token = built.agent(max_level=Level.L4)
    async with built.client() as client:
        token = await built.token(client, Level.L4, api_token)
    return {
        "uaix-credential": api_token,
        "uaix-negotiation": token,
        "uaix-correlation": "c-1",
        "uaix-expires": "2099-01-01T00:00:00Z",
        "idempotency-key": "k-1",
    }


async def test_fifty_identical_requests_are_one_execution(tmp_path: Path, database_url: str):
    calls: list[str] = []
    leave = asyncio.Event()
    site = slow_site(calls, leave)
    with (
        house(tmp_path, database=database_url, site=site) as one,
        house(tmp_path, database=database_url, site=site) as two,
    ):
        headers = await headers_of(one)
        async with one.client() as first, two.client() as second:
            asked = [
                asyncio.ensure_future((first, second)[number % 2].post("/task", content=b"x", headers=headers))
                for number in range(FIFTY)
            ]
            for refused in islice(asyncio.as_completed(asked), FIFTY - 1):
                await refused
            assert calls == ["/task"]
            leave.set()
            answers = await asyncio.gather(*asked)
            heard = Counter(answer.text if answer.status_code == 200 else answer.json()["code"] for answer in answers)
            assert heard == {"done": 1, "idempotency_in_flight": FIFTY - 1}
            assert {answer.headers["retry-after"] for answer in answers if answer.status_code == 409} == {"1"}
            again = await asyncio.gather(
                *(client.post("/task", content=b"x", headers=headers) for client in (first, second) * 25)
            )
            assert Counter((each.text, each.headers.get("idempotent-replayed")) for each in again) == {
                ("done", "true"): FIFTY
            }
        assert calls == ["/task"]
        kinds = Counter(entry["kind"] for entry in one.entries())
        assert (kinds["intent"], kinds["outcome"], kinds["replay"]) == (1, 1, FIFTY)
        assert one.negotiator.audit.verify().entries == len(one.entries())
