"""Nothing that a bundle answered outlives it: no remembered decision, no effective level, no published matrix.

And no bundle comes into force that was not checked, or whose coming the ledger does not tell of.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from negotiator.errors import ConfigError, PolicyError, UnavailableError
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from negotiator.store import open_store
from tests.support.house import PREFIX, House, house
from tests.support.interleaving import policies_with

CLOSED = '@id("closed") @title("closed") forbid (principal, action == Uaix::Action::"render_ui", resource);'
CAPPED = """
@id("capped") @title("capped")
forbid (principal is Uaix::Agent, action == Uaix::Action::"declare", resource in Uaix::Level::"L2");
"""
DOCUMENTS = ("/.well-known/uaix.json", "/.well-known/uaix-agent-access.json")


def use(built: House, rule: str) -> bool:
    return built.negotiator.use_bundle(policies_with(rule), actor="olga")


async def test_a_remembered_decision_ends_with_its_bundle(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        old = built.negotiator.bundle_digest
        async with built.client() as client:
            headers = {"uaix-negotiation": await built.token(client, Level.L2)}
            assert (await client.get("/screen", headers=headers)).status_code == 200
            assert use(built, CLOSED)
            answer = await client.get("/screen", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "refused")
        assert built.calls == ["GET /screen"]
        [change] = built.entries("policy")
        assert (change["code"], change["old_bundle_digest"]) == ("bundle_replaced", old)
        assert change["bundle_digest"] == built.negotiator.bundle_digest != old
        assert change["actor"] == {"type": "Host", "id": "olga"}
        assert built.entries()[-1]["bundle_digest"] == change["bundle_digest"]


async def test_a_level_that_another_bundle_gave_is_worked_out_again(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            headers = {"uaix-negotiation": token, "uaix-credential": api_token}
            assert (await client.get("/data", headers=headers)).headers["uaix-level"] == "L3"
            use(built, CAPPED)
            lowered = await client.get("/data", headers=headers)
            assert (await client.get("/screen", headers=headers)).status_code == 403
            use(built, "")
            assert (await client.get("/data", headers=headers)).headers["uaix-level"] == "L3"
        assert (lowered.status_code, lowered.headers["uaix-level"]) == (200, "L1")
        facts = [entry["facts"]["level"] for entry in built.entries("decision")]
        assert facts == ["L3", "L1", "L1", "L3"]


async def test_a_laxer_bundle_raises_no_negotiation_that_was_made_before_it(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        use(built, CAPPED)
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            use(built, "")
            headers = {"uaix-negotiation": token, "uaix-credential": api_token}
            assert (await client.get("/data", headers=headers)).headers["uaix-level"] == "L1"
            again = await built.token(client, Level.L3, api_token)
            headers["uaix-negotiation"] = again
            assert again != token, "an identical declaration is answered under the policies in force"
            assert (await client.get("/data", headers=headers)).headers["uaix-level"] == "L3"


async def test_published_documents_follow_the_bundle(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        async with built.client() as client:
            before = {path: (await client.get(path)).headers["etag"] for path in DOCUMENTS}
            for path, etag in before.items():
                assert (await client.get(path, headers={"if-none-match": etag})).status_code == 304
            use(built, CLOSED)
            for path, etag in before.items():
                assert (await client.get(path, headers={"if-none-match": etag})).status_code == 200
            manifest, access = [(await client.get(path)).json() for path in DOCUMENTS]
        assert manifest["bundle_digest"] == built.negotiator.bundle_digest
        assert all("render_ui" in level["refused"] for level in access["levels"])


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("permit (", "policy_unparsable"),
        ("permit (principal, action, resource);", "policy_id_missing"),
        ('@id("ladder.read") @title("x") permit (principal, action, resource);', "policy_id_duplicate"),
        ('@id("x") @title("x") permit (principal in Uaix::Level::"L9", action, resource);', "policy_invalid"),
    ],
)
async def test_a_bundle_that_cannot_decide_never_comes_into_force(
    tmp_path: Path, database_url: str, rule: str, code: str
):
    with house(tmp_path, database=database_url) as built:
        old = built.negotiator.engine
        with pytest.raises(PolicyError) as caught:
            use(built, rule)
        assert caught.value.code == code
        assert built.negotiator.engine is old
        assert built.entries() == []


async def test_a_bundle_that_the_routes_do_not_fit_never_comes_into_force(tmp_path: Path, monkeypatch):
    with house(tmp_path) as built:
        old = built.negotiator.engine
        monkeypatch.setattr(type(old), "applies", lambda *_: False)
        with pytest.raises(ConfigError) as caught:
            use(built, CLOSED)
        assert caught.value.code == "route_unfit"
        assert built.negotiator.engine is old


async def test_a_change_that_cannot_be_recorded_does_not_happen(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        old = built.negotiator.engine
        built.negotiator.store.stop()
        with pytest.raises(UnavailableError):
            use(built, CLOSED)
        assert built.negotiator.engine is old


def test_the_same_bundle_again_is_no_change(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        assert use(built, CLOSED)
        engine = built.negotiator.engine
        assert not use(built, CLOSED)
        assert built.negotiator.engine is engine
        assert len(built.entries("policy")) == 1


async def test_once_replaced_nothing_of_the_old_bundle_is_still_to_be_recorded(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    """A batch that claimed the old bundle is held before its commit: the replacement waits until it is answered."""
    held, go_on = Event(), Event()

    def step(name: str) -> None:
        if name == "before_commit" and armed and not held.is_set():
            held.set()
            assert go_on.wait(30)

    armed: list[bool] = []
    monkeypatch.setattr("negotiator.assembly.open_store", partial(open_store, step=step))
    with house(tmp_path, database=database_url) as built:
        old = built.negotiator.bundle_digest
        async with built.client() as client:
            headers = {"uaix-negotiation": await built.token(client, Level.L2)}
            armed.append(True)
            answering = asyncio.ensure_future(client.get("/screen", headers=headers))
            await asyncio.to_thread(held.wait, 30)
            replacing = asyncio.ensure_future(asyncio.to_thread(use, built, CLOSED))
            go_on.set()
            assert await replacing
            assert (await client.get("/screen", headers=headers)).status_code == 403
            assert (await answering).status_code == 200
        entries = built.entries()
        change = next(entry["index"] for entry in entries if entry["kind"] == "policy")
        assert [e["index"] for e in entries if e.get("bundle_digest") == old and e["index"] > change] == []


async def test_requests_while_bundles_change_are_answered_by_one_of_them(tmp_path: Path, database_url: str):
    document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L2]]
    with house(tmp_path, database=database_url) as built:
        async with built.client() as client:
            headers = {"uaix-negotiation": await built.token(client, Level.L2)}

            async def ask() -> list[int]:
                statuses = []
                for _ in range(20):
                    statuses.append((await client.get("/screen", headers=headers)).status_code)
                    statuses.append((await client.post(f"{PREFIX}/negotiations", json=document)).status_code)
                return statuses

            asking = [asyncio.ensure_future(ask()) for _ in range(4)]
            for number in range(6):
                await asyncio.to_thread(use, built, ["", CLOSED][number % 2])
            statuses = {status for seen in await asyncio.gather(*asking) for status in seen}
        assert statuses <= {200, 201, 403}
        known = {built.negotiator.bundle_digest} | {entry["old_bundle_digest"] for entry in built.entries("policy")}
        for entry in built.entries("decision") + built.entries("intent"):
            closed = "closed" in entry["policies"]
            assert entry["bundle_digest"] in known
            assert closed == (entry["decision"] == "deny"), "policies and decision are of one bundle"
        for declared in built.entries("declare"):
            assert declared["bundle_digest"] in known
