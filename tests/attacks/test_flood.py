"""Floods: what is more than a budget is refused cheaply, counted exactly, and takes nothing from the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from negotiator.assembly import Negotiator
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from tests.support.house import PREFIX, House, house, settings_in

NEGOTIATIONS = f"{PREFIX}/negotiations"
DECLARATION = load_catalog().examples[PROFILE_OF_LEVEL[Level.L1]]
SHIPPED = {"free_mebibytes": 0}
"""The shipped budgets, without the reserve: the machine's disk is not what is tested."""


def from_address(built: House, address: str, **headers: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=built.app, client=(address, 50_000))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)


def suppressed(built: House) -> Counter[tuple[str, str]]:
    """Return what the ledger says was counted, by code and network."""
    rows = [row for entry in built.entries("suppressed") for row in entry["counts"]]
    return sum((Counter({(row["code"], row["source"]): row["count"]}) for row in rows), Counter())


async def declare(client: httpx.AsyncClient, times: int, **headers: str) -> list[httpx.Response]:
    return [await client.post(NEGOTIATIONS, json=DECLARATION, headers=headers) for _ in range(times)]


async def a_minute_later(built: House, client: httpx.AsyncClient) -> None:
    built.clock.advance(61)
    assert (await client.get("/data")).status_code == 200


async def test_declarations_of_strangers(tmp_path: Path, database_url: str):
    """Honest path: an agent goes on. Attack: 200 at once. What is more than the burst is counted, all of it."""
    with house(tmp_path, database=database_url, budgets=SHIPPED) as built:
        api_token = built.agent()
        async with from_address(built, "192.0.2.77") as flood, from_address(built, "198.51.100.1") as agent:
            token = await built.token(agent, Level.L2, api_token)
            answers = await declare(flood, 200)
            assert Counter(answer.status_code for answer in answers) == {201: 40, 429: 160}
            last = answers[-1]
            assert (last.json()["code"], last.headers["retry-after"]) == ("over_budget", "1")
            assert "uaix-decision" not in last.headers
            own = {"uaix-negotiation": token, "uaix-credential": api_token}
            assert all([(await agent.get("/data", headers=own)).status_code == 200 for _ in range(100)])
            assert {a.status_code for a in await declare(agent, 3, authorization=f"Bearer {api_token}")} == {200, 201}
            assert len(built.entries("declare")) == 41 + 1, (
                "another example is another declaration; repeated, it is one"
            )
            await a_minute_later(built, agent)
        assert suppressed(built) == {("over_budget", "192.0.2.0/24"): 160}
        assert len(built.entries("suppressed")) == 1
        built.negotiator.audit.verify()


@pytest.mark.parametrize("path", [NEGOTIATIONS, f"{PREFIX}/validate"])
async def test_nothing_is_read_of_what_is_over_budget(tmp_path: Path, path: str):
    with house(tmp_path, budgets=SHIPPED) as built:
        async with from_address(built, "192.0.2.77") as flood:
            answers = [await flood.post(path, content=b"{", headers={"content-type": "text/odd"}) for _ in range(50)]
    assert Counter(answer.status_code for answer in answers) == {415: 40, 429: 10}


async def test_a_forged_address_buys_no_other_budget(tmp_path: Path):
    with house(tmp_path, budgets=SHIPPED) as built:
        async with from_address(built, "192.0.2.77") as flood:
            for n in range(60):
                answer = (await declare(flood, 1, **{"x-forwarded-for": f"203.0.113.{n}"}))[0]
    assert answer.status_code == 429


async def test_a_trusted_proxy_tells_sources_apart(tmp_path: Path):
    budgets = SHIPPED | {"declarations_per_source_and_minute": 1}
    with house(tmp_path, budgets=budgets, trusted_proxies=["192.0.2.0/24"]) as built:
        async with from_address(built, "192.0.2.1") as proxy:
            statuses = [
                (await declare(proxy, 1, **{"x-forwarded-for": f"{claimed}, {seen}"}))[0].status_code
                for claimed, seen in [("a", "203.0.113.1"), ("b", "203.0.113.1"), ("a", "203.0.113.2")]
            ]
            assert statuses == [201, 429, 201]
            await a_minute_later(built, proxy)
        assert suppressed(built) == {("over_budget", "203.0.113.0/24"): 1}


async def test_refusals_of_strangers_do_not_fill_the_ledger(tmp_path: Path, database_url: str):
    """The first have an entry each; the others are refused alike, name no decision, and are counted."""
    with house(tmp_path, database=database_url, budgets=SHIPPED) as built:
        async with built.client() as client:
            answers = [await client.post("/comments", content=b"x") for _ in range(100)]
            assert {answer.status_code for answer in answers} == {401}
            assert sum("uaix-decision" in answer.headers for answer in answers) == 30
            assert len(built.entries("decision")) == 30
            assert answers[-1].json()["decision_id"] == ""
            assert answers[-1].json()["obligations"] == answers[0].json()["obligations"], "and still says how"
            await a_minute_later(built, client)
        assert suppressed(built) == {("declaration_required", "127.0.0.0/24"): 70}
        assert built.calls == ["GET /data"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"authorization": "Bearer uaixt_0_0"}, "credentials_invalid"),
        ({"authorization": "Bearer " + "x" * 600}, "credentials_invalid"),
        ({"uaix-credential": "nonsense", "authorization": "Bearer nonsense"}, "mixed_credentials"),
    ],
)
async def test_a_bad_credential_is_no_way_round_the_door(tmp_path: Path, headers: dict[str, str], code: str):
    with house(tmp_path, budgets=SHIPPED) as built:
        async with built.client() as client:
            answers = await declare(client, 100, **headers)
            assert {answer.json()["code"] for answer in answers} == {code}
            await a_minute_later(built, client)
        assert len(built.entries("declare")) == 30
        assert suppressed(built) == {(code, "127.0.0.0/24"): 70}


async def test_an_agents_own_budgets(tmp_path: Path, database_url: str):
    limits: dict[str, Any] = {
        "declarations_per_agent_and_minute": 2,
        "requests_per_agent_and_minute": 3,
        "requests_per_source_and_minute": 1,
    }
    with house(tmp_path, database=database_url, budgets=SHIPPED | limits) as built:
        api_token = built.agent()
        bearer = {"authorization": f"Bearer {api_token}"}
        async with built.client() as client:
            declared = await declare(client, 4, **bearer)
            assert [answer.status_code for answer in declared] == [201, 200, 429, 429]
            own = {"uaix-credential": api_token, "uaix-negotiation": declared[0].json()["body"]["token"]}
            governed = [(await client.get("/data", headers=own)).status_code for _ in range(5)]
            assert governed == [200, 200, 200, 429, 429]
            assert [(await client.get("/data")).status_code for _ in range(2)] == [200, 429]
            assert len(built.entries("decision")) == 4
        built.negotiator.stop()
        reader = replace(built, negotiator=Negotiator(settings_in(tmp_path, database=database_url)))
        assert suppressed(reader) == {("over_budget", "127.0.0.0/24"): 5}, "the stop writes what was counted"
        reader.negotiator.stop()


async def test_live_negotiations_of_one_agent(tmp_path: Path, database_url: str):
    """A quota in the database, for all processes; renewing gives one back, ending too."""
    with house(tmp_path, database=database_url, budgets=SHIPPED | {"negotiations_per_agent": 2}) as built:
        bearer = {"authorization": f"Bearer {built.agent()}"}
        async with built.client() as client:

            async def declared(level: Level, **headers: str) -> httpx.Response:
                document = load_catalog().examples[PROFILE_OF_LEVEL[level]]
                return await client.post(NEGOTIATIONS, json=document, headers=bearer | headers)

            first, second = await declared(Level.L0), await declared(Level.L1)
            assert (first.status_code, second.status_code) == (201, 201)
            third = await declared(Level.L2)
            assert (third.status_code, third.json()["code"]) == (429, "over_budget")
            assert "end or renew one" in third.json()["detail"]
            renewed = await declared(Level.L2, **{"uaix-negotiation": first.json()["body"]["token"]})
            assert renewed.status_code == 201
            ended = await client.delete(second.headers["location"], headers=bearer)
            assert ended.status_code == 204
            assert (await declared(Level.L3)).status_code == 201


async def test_negotiations_long_over_are_deleted_and_their_entries_stay(tmp_path: Path, database_url: str):
    budgets = SHIPPED | {"negotiations_kept_days": 1}
    with house(tmp_path, database=database_url, budgets=budgets) as built:
        async with built.client() as client:
            [declared] = await declare(client, 1)
            negotiation_id = declared.json()["body"]["negotiation_id"]
            stored = lambda: built.negotiator.store.read_sync(lambda reader: reader.negotiations.get(negotiation_id))  # noqa: E731
            for seconds in (3_700, 86_000):
                built.clock.advance(seconds)
                await client.get("/data")
                assert stored() is not None
            built.clock.advance(3_600)
            await client.get("/data")
            await client.get("/data")
            assert stored() is None
        assert len(built.entries("declare")) == 1
        built.negotiator.audit.verify()
