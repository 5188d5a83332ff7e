"""`readyz` of a whole house: its word, its status, and the stable reasons."""

from __future__ import annotations

import asyncio
import math
from datetime import timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest

from negotiator.ports import Lane
from negotiator.services.readiness import FULL_FROM, LOOK_EVERY_SECONDS
from negotiator.shipped import shipped_folder
from negotiator.store import PepperVerifiers, open_store
from negotiator.store.lanes import LANE_CAPACITY
from tests.support.house import PREFIX, House, house
from tests.support.stores import handed_over, held_writer


async def ready(built: House, *, client: str = "127.0.0.1") -> httpx.Response:
    transport = httpx.ASGITransport(app=built.app, client=(client, 50_000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        return await http.get(f"{PREFIX}/readyz")


def reasons(answer: httpx.Response) -> tuple[int, str, list[str]]:
    document = answer.json()
    return answer.status_code, document["status"], [condition["code"] for condition in document["conditions"]]


async def test_a_house_in_order_is_ready(tmp_path: Path):
    with house(tmp_path) as built:
        assert reasons(await ready(built)) == (200, "ok", [])
        assert built.entries() == [], "looking leaves nothing"


async def test_a_store_that_has_stopped_is_unreadable_and_down(tmp_path: Path):
    with house(tmp_path) as built:
        await ready(built)
        built.negotiator.stop()
        assert reasons(await ready(built)) == (200, "ok", []), "the last look holds for a second"
        built.clock.advance(LOOK_EVERY_SECONDS)
        assert reasons(await ready(built)) == (503, "down", ["store_unreadable"])


async def test_a_ledger_that_cannot_be_written_is_down_and_mends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    full: list[bool] = [True]

    def step(name: str) -> None:
        if full and name == "before_commit":
            raise OSError(28, "no space left on device")

    monkeypatch.setattr("negotiator.assembly.open_store", partial(open_store, step=step))
    with house(tmp_path) as built:
        assert reasons(await ready(built)) == (503, "down", ["store_unwritable"])
        full.clear()
        built.clock.advance(10)
        assert reasons(await ready(built)) == (200, "ok", [])


@pytest.mark.parametrize(("behind", "word"), [(60, "ok"), (61, "degraded")])
async def test_a_clock_behind_the_ledger_is_degraded(tmp_path: Path, behind: int, word: str):
    with house(tmp_path) as built:
        built.agent()
        built.clock.moment -= timedelta(seconds=behind)
        expected = ["clock_behind"] if word == "degraded" else []
        assert reasons(await ready(built)) == (200, word, expected)


async def test_without_policies_it_is_degraded(tmp_path: Path):
    (tmp_path / "policies").mkdir()
    schema = (shipped_folder("policies") / "schema.cedarschema").read_bytes()
    (tmp_path / "policies" / "schema.cedarschema").write_bytes(schema)
    with house(tmp_path, policies_dir=tmp_path / "policies") as built:
        assert reasons(await ready(built)) == (200, "degraded", ["policies_empty"])


async def test_many_who_ask_at_once_cost_one_look(tmp_path: Path):
    with house(tmp_path) as built:
        await ready(built)
        built.clock.advance(LOOK_EVERY_SECONDS)
        with held_writer(built.negotiator.store):
            first = asyncio.ensure_future(ready(built))
            while not any(built.negotiator.store.waiting().values()):  # noqa: ASYNC110 - the store has no event for it
                await asyncio.sleep(0)
            answers = [await ready(built) for _ in range(20)]
            assert {reasons(answer)[0] for answer in answers} == {200}
            assert sum(built.negotiator.store.waiting().values()) == 1
        assert reasons(await first) == (200, "ok", [])


@pytest.mark.parametrize("stopped", [False, True])
async def test_others_get_the_word_alone(tmp_path: Path, stopped: bool):
    with house(tmp_path) as built:
        await ready(built)
        if stopped:
            built.negotiator.stop()
            built.clock.advance(LOOK_EVERY_SECONDS)
        answer = await ready(built, client="192.0.2.7")
        assert answer.json() == {"status": "down" if stopped else "ok"}


async def test_a_pepper_that_is_gone_is_told_before_the_next_start_makes_another(tmp_path: Path):
    with house(tmp_path) as built:
        assert reasons(await ready(built)) == (200, "ok", [])
        kept = (tmp_path / "keys" / "pepper.key").rename(tmp_path / "kept")
        built.clock.advance(LOOK_EVERY_SECONDS)
        assert reasons(await ready(built)) == (200, "degraded", ["key_file_missing"])
        PepperVerifiers.open(tmp_path / "keys", database_directory=None)
        built.clock.advance(LOOK_EVERY_SECONDS)
        assert reasons(await ready(built)) == (200, "degraded", ["key_file_missing"]), "another pepper is no pepper"
        kept.rename(tmp_path / "keys" / "pepper.key")
        (tmp_path / "keys" / "pepper.key").chmod(0o644)
        built.clock.advance(LOOK_EVERY_SECONDS)
        assert reasons(await ready(built)) == (200, "degraded", ["key_file_unsafe"])
        (tmp_path / "keys" / "pepper.key").chmod(0o600)
        built.clock.advance(LOOK_EVERY_SECONDS)
        assert reasons(await ready(built)) == (200, "ok", [])


async def test_a_lane_is_told_when_it_is_nearly_full(tmp_path: Path):
    with house(tmp_path) as built:
        await ready(built)
        store, wanted = built.negotiator.store, math.ceil(FULL_FROM * LANE_CAPACITY[Lane.DECLARATION])
        with held_writer(store):
            waiting = [asyncio.ensure_future(store.transact(lambda _tx: None, Lane.DECLARATION)) for _ in range(wanted)]
            await handed_over()
            answer = await ready(built)
            assert reasons(answer) == (200, "degraded", ["queue_filling"])
            assert (
                f"declaration {wanted} of {LANE_CAPACITY[Lane.DECLARATION]}" in answer.json()["conditions"][0]["detail"]
            )
        await asyncio.gather(*waiting)
        assert reasons(await ready(built)) == (200, "ok", [])
