"""`metrics` of a whole house: what is counted, and that no caller makes a series."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from negotiator.model.levels import Level
from negotiator.ports import Lane
from negotiator.store import open_store
from negotiator.store.lanes import LANE_CAPACITY
from negotiator.web.metrics import Metrics
from tests.support.house import PREFIX, house
from tests.support.interleaving import policies_with

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def series(text: str) -> Series:
    """Return name and labels to value."""
    families = text_string_to_metric_families(text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


async def scraped(client: httpx.AsyncClient) -> Series:
    answer = await client.get(f"{PREFIX}/metrics")
    assert answer.status_code == 200, answer.text
    return series(answer.text)


def decisions(found: Series) -> dict[tuple[str, str, str], float]:
    picked = {tuple(dict(labels).items()): v for (name, labels), v in found.items() if name.endswith("decisions_total")}
    return {(d["decision"], d["code"], d["action"]): v for labels, v in picked.items() for d in [dict(labels)]}


async def test_every_recorded_decision_is_counted_once(tmp_path: Path):
    with house(tmp_path) as built:
        async with built.client() as client:
            assert decisions(await scraped(client)) == {}
            token = await built.token(client, Level.L1)
            headers = {"uaix-negotiation": token}
            for _ in range(3):
                assert (await client.get("/data", headers=headers)).status_code == 200
            assert (await client.post("/comments", headers=headers)).status_code == 403
            assert (await client.get("/data", headers={"uaix-negotiation": f"{token[:-4]}AAAA"})).status_code == 401
            assert (await client.post(f"{PREFIX}/negotiations", json={})).status_code == 400
            found = await scraped(client)
        counted = decisions(found)
        assert counted[("allow", "allowed", "read_json")] == 3
        assert counted[("allow", "allowed", "declare")] == 1
        assert counted[("deny", "credentials_invalid", "read_json")] == 1
        entries = [entry for entry in built.entries() if entry["kind"] in {"decision", "declare"}]
        assert sum(counted.values()) == len(entries) == found[("negotiator_decision_seconds_count", ())]
        refused = {entry["code"] for entry in entries if entry["decision"] == "deny"}
        assert {code for decision, code, _ in counted if decision == "deny"} == refused


async def test_the_present_state_is_told(tmp_path: Path):
    with house(tmp_path) as built:
        async with built.client() as client:
            found = await scraped(client)
        assert found[("negotiator_effects_open", ())] == 0
        assert found[("negotiator_bundle_info", (("digest", built.negotiator.bundle_digest),))] == 1
        assert found[("negotiator_requests_abandoned_total", ())] == 0
        lanes = {dict(labels)["lane"] for name, labels in found if name == "negotiator_queue_units"}
        assert lanes == {lane.name.lower() for lane in Lane} == {lane.name.lower() for lane in LANE_CAPACITY}


async def test_a_store_that_is_gone_leaves_its_number_out(tmp_path: Path):
    with house(tmp_path) as built:
        async with built.client() as client:
            await scraped(client)
            built.negotiator.stop()
            found = await scraped(client)
        assert ("negotiator_effects_open", ()) not in found
        assert ("negotiator_requests_abandoned_total", ()) in found


def test_two_of_them_share_nothing_and_words_of_others_make_no_series():
    one, two = (
        Metrics(
            waiting=dict,
            open_effects=lambda: 3,
            bundle_digest=lambda: "ab",
            sizes=dict,
            bundle_age_seconds=lambda: 7.0,
            mode="enforce",
        )
        for _ in range(2)
    )
    for word in ("secret-1", "secret-2"):
        one.decided(decision="deny", code=word, action=word, seconds=0.01)
    one.abandoned()
    counted = series(one.exposition().decode())
    assert decisions(counted) == {("deny", "other", "other"): 2}
    assert counted[("negotiator_requests_abandoned_total", ())] == 1
    assert counted[("negotiator_effects_open", ())] == 3
    assert b"secret" not in one.exposition()
    assert decisions(series(two.exposition().decode())) == {}


async def test_budgets_modes_and_the_kill_switch_are_told(tmp_path: Path):
    with house(tmp_path, mode="shadow", kill_switch=tmp_path / "stop", root_aliases=True) as built:
        async with built.client() as client:
            await built.token(client, Level.L1)
            (tmp_path / "stop").touch()
            built.clock.advance(1)
            found = series((await client.get("/metrics")).text)
    told = {name: value for (name, labels), value in found.items() if not labels}
    assert told["negotiator_kill_switch_on"] == 1
    assert told["negotiator_routes_in_shadow"] == len(built.negotiator.routes) - 1, (
        "a memory write is held whatever the mode"
    )
    assert told["negotiator_budget_spenders"] == 1
    assert (told["negotiator_declarations_waiting"], told["negotiator_refusals_unwritten"]) == (0, 0)


async def test_commits_are_counted_with_what_they_made_durable(tmp_path: Path):
    with house(tmp_path) as built:
        async with built.client() as client:
            before = await scraped(client)
            built.agent()
            for _ in range(4):
                await client.get("/data")
            found = await scraped(client)
        entries = len(built.entries())
        gained = {key: found[key] - before[key] for key in before}
    assert gained[("negotiator_commit_entries_sum", ())] == entries == 5
    assert gained[("negotiator_commits_total", ())] == gained[("negotiator_commit_entries_count", ())] >= 5
    assert gained[("negotiator_commit_seconds_count", ())] == gained[("negotiator_commits_total", ())]


async def test_a_batch_that_failed_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def step(name: str) -> None:
        if name == "before_commit":
            raise OSError(28, "no space left on device")

    monkeypatch.setattr("negotiator.assembly.open_store", partial(open_store, step=step))
    with house(tmp_path) as built:
        async with built.client() as client:
            assert (await client.get("/data")).status_code == 503
            assert (await scraped(client))[("negotiator_commits_total", ())] == 0


async def test_the_mode_and_the_age_of_policies_are_told(tmp_path: Path):
    with house(tmp_path, mode="shadow") as built:
        async with built.client() as client:
            built.clock.advance(30)
            found = await scraped(client)
            assert found[("negotiator_mode_info", (("mode", "shadow"),))] == 1
            assert found[("negotiator_bundle_age_seconds", ())] == 30
            assert found[("negotiator_process_info", (("pid", str(os.getpid())),))] == 1
            built.clock.advance(1)
            assert built.negotiator.use_bundle(
                policies_with('@id("x") @title("x") permit(principal,action,resource);'), actor="t"
            )
            found = await scraped(client)
        assert found[("negotiator_bundle_age_seconds", ())] == 0


async def test_every_metric_is_documented(tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs" / "production.md").read_text(encoding="utf-8")
    with house(tmp_path) as built:
        async with built.client() as client:
            text = (await client.get(f"{PREFIX}/metrics")).text
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    families = {name for name in families if not name.endswith("_created")}
    assert {name for name in families if f"`{name}" not in page} == set()
