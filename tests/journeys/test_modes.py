"""Modes and the kill switch over HTTP: what binds, what is only recorded, and who is told of a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from negotiator.model.levels import Level
from tests.support.house import PREFIX, ROUTES, House, house

SWITCH = "stop-agents"


async def turn(built: House) -> None:
    """Let the writer's chores have their turn."""
    built.clock.advance(10)
    await built.negotiator.store.transact(lambda _tx: None)


async def test_in_shadow_a_denial_is_recorded_and_the_site_is_called(tmp_path: Path):
    with house(tmp_path, mode="shadow") as built:
        async with built.client() as client:
            token = await built.token(client, Level.L2)
            answer = await client.post("/comments", content=b"hello", headers={"uaix-negotiation": token})
        assert (answer.status_code, answer.text) == (200, "from the site")
        assert answer.headers["uaix-mode"] == "shadow"
        assert built.calls == ["POST /comments"]
        [intent], [outcome] = built.entries("intent"), built.entries("outcome")
        assert (intent["decision"], intent["mode"]) == ("deny", "shadow")
        assert intent["policies"]
        assert intent["decision_id"] == outcome["decision_id"] == answer.headers["uaix-decision"]


async def test_in_enforce_the_same_request_is_refused(tmp_path: Path):
    with house(tmp_path) as built:
        async with built.client() as client:
            token = await built.token(client, Level.L2)
            answer = await client.post("/comments", content=b"hello", headers={"uaix-negotiation": token})
        assert answer.status_code == 403
        assert "uaix-mode" not in answer.headers
        assert built.calls == []


@pytest.mark.parametrize(
    ("headers", "code"),
    [({}, "declaration_required"), ({"uaix-negotiation": "a.b.c"}, "credentials_invalid")],
)
async def test_in_shadow_nobody_has_to_declare_and_it_is_recorded_who_did_not(tmp_path: Path, headers, code):
    with house(tmp_path, mode="shadow") as built:
        async with built.client() as client:
            answer = await client.get("/private", headers=headers)
        assert answer.text == "from the site"
        [entry] = built.entries("decision")
        assert (entry["decision"], entry["code"], entry["mode"]) == ("deny", code, "shadow")


async def test_what_is_allowed_in_shadow_does_not_say_so_in_its_entry(tmp_path: Path):
    with house(tmp_path, mode="shadow") as built:
        async with built.client() as client:
            answer = await client.get("/page")
        assert answer.headers["uaix-mode"] == "shadow"
        [entry] = built.entries("decision")
        assert entry["decision"] == "allow"
        assert "mode" not in entry


async def test_what_binds_in_every_mode(tmp_path: Path):
    with house(tmp_path, mode="shadow") as built:
        api_token = built.agent(max_level=Level.L4)
        async with built.client() as client:
            ambiguous = await client.get("/page%2f..%2fprivate", headers={"x-http-method-override": "DELETE"})
            own = {"uaix-credential": api_token, "uaix-negotiation": await built.token(client, Level.L4, api_token)}
            own |= {"uaix-correlation": "c-1", "idempotency-key": "k-1"}
            held = await client.put("/memory/tea", content=b"left", headers=own)
            undeclared = await client.put("/memory/tea", content=b"left")
        assert ambiguous.status_code == 400
        assert held.status_code == 202
        assert undeclared.status_code == 401
        assert built.calls == []


async def test_a_used_key_does_not_deny_in_shadow(tmp_path: Path):
    with house(tmp_path, mode="shadow") as built:
        api_token = built.agent()
        async with built.client() as client:
            own = {"uaix-credential": api_token, "uaix-negotiation": await built.token(client, Level.L3, api_token)}
            for content in (b"one", b"two"):
                answer = await client.post("/comments", content=content, headers=own | {"idempotency-key": "k-1"})
                assert answer.status_code == 200
        assert built.bodies == [b"one", b"two"]


async def test_one_route_can_bind_while_the_others_do_not(tmp_path: Path):
    routes = [route | ({"mode": "enforce"} if route["match"] == "POST /comments" else {}) for route in ROUTES]
    with house(tmp_path, mode="shadow", routes=routes) as built:
        async with built.client() as client:
            assert (await client.post("/comments")).status_code == 401
            assert (await client.post("/tool")).status_code == 200
            document = (await client.get("/.well-known/uaix.json")).json()
            negotiation = (await client.get(f"{PREFIX}/readyz")).json()
        assert document["mode"] == "shadow"
        assert negotiation["status"] == "degraded"
        await turn(built)
        [entry] = built.entries("admin")
        assert (entry["code"], entry["before"], entry["now"]) == (
            "mode_changed", "enforce", "shadow; enforce: POST /comments",
        )  # fmt: skip


async def test_a_change_of_mode_is_recorded_once_also_across_restarts(tmp_path: Path):
    for mode in ("enforce", "shadow", "shadow", "enforce"):
        with house(tmp_path, mode=mode) as built:
            await turn(built)
            await turn(built)
            found = [(entry["before"], entry["now"]) for entry in built.entries("admin")]
    assert found == [("enforce", "shadow"), ("shadow", "enforce")]


async def test_the_kill_switch_stops_agents_and_not_people(tmp_path: Path):
    with house(tmp_path, kill_switch=tmp_path / SWITCH, person="ada") as built:
        human = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}
        async with built.client() as client:
            token = await built.token(client, Level.L2)
            agent = {"uaix-negotiation": token}
            assert (await client.get("/page", headers=agent)).status_code == 200
            (tmp_path / SWITCH).touch()
            assert (await client.get("/page", headers=agent)).status_code == 200, "within a second"
            built.clock.advance(1)
            stopped = await client.get("/page", headers=agent)
            assert (stopped.status_code, stopped.json()["code"]) == (503, "governance_stopped")
            assert (await client.post("/form", headers=human)).status_code == 200
            await turn(built)
            (tmp_path / SWITCH).unlink()
            built.clock.advance(1)
            assert (await client.get("/page", headers=agent)).status_code == 200
            await turn(built)
        changes = [(entry["code"], entry["now"]) for entry in built.entries("admin") if "now" in entry]
        assert changes == [("kill_switch_changed", "on"), ("kill_switch_changed", "off")]


async def test_in_shadow_the_kill_switch_still_stops(tmp_path: Path):
    (tmp_path / SWITCH).touch()
    with house(tmp_path, kill_switch=tmp_path / SWITCH, mode="shadow") as built:
        async with built.client() as client:
            assert (await client.post("/comments")).status_code == 503
        assert built.calls == []
