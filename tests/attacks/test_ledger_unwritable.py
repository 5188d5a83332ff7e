"""A ledger that cannot be written, or only slowly: refused, bounded, the site not called, and whole afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event

import httpx
import pytest

from negotiator.model.levels import Level
from negotiator.ports import Lane
from negotiator.store import open_store
from negotiator.store.lanes import LANE_CAPACITY
from tests.support.house import PREFIX, House, house

GOVERNED = LANE_CAPACITY[Lane.GOVERNED]


@pytest.fixture
def house_with(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch):
    """Build a house whose writer calls a hook at each step of each batch."""

    @contextmanager
    def build(step: Callable[[str], None]) -> Iterator[House]:
        monkeypatch.setattr("negotiator.assembly.open_store", partial(open_store, step=step))
        with house(tmp_path, database=database_url) as built:
            yield built

    return build


def refused(answer: httpx.Response) -> bool:
    return (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable") and int(
        answer.headers["retry-after"]
    ) > 0


@pytest.mark.parametrize("where", ["units_done", "before_commit"])
async def test_what_cannot_be_recorded_does_not_reach_the_site(house_with, where: str):
    broken: list[bool] = []

    def step(name: str) -> None:
        if broken and name == where:
            raise OSError(28, "no space left on device")

    with house_with(step) as built:
        async with built.client() as client:
            headers = {"uaix-negotiation": await built.token(client, Level.L2)}
            broken.append(True)
            for path in ("/data", "/screen"):
                assert refused(await client.get(path, headers=headers))
            assert refused(await client.post("/comments", headers=headers)), "a refusal, too, is recorded or not given"
            assert built.calls == []
            broken.clear()
            built.clock.advance(10)
            assert (await client.get("/screen", headers=headers)).status_code == 200
        assert built.calls == ["GET /screen"]
        assert [entry["kind"] for entry in built.entries()] == ["admin", "declare", "intent", "outcome"]
        assert built.negotiator.audit.verify().entries == 4


async def test_an_outcome_that_cannot_be_recorded_is_never_an_answer(house_with):
    """The site was called: 503 says that nobody knows, and where it is settled."""
    called: list[str] = []

    def step(name: str) -> None:
        if called and name == "before_commit":
            raise OSError(28, "no space left on device")

    with house_with(step) as built:
        called = built.calls
        async with built.client() as client:
            headers = {"uaix-negotiation": await built.token(client, Level.L2)}
            answer = await client.get("/screen", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (503, "outcome_unknown")
        assert answer.json()["settle_url"].startswith(f"{PREFIX}/effects/")
        assert built.calls == ["GET /screen"]
        built.calls.clear()
        built.clock.advance(10)
        [intent] = built.entries("intent")
        assert intent["decision_id"] == answer.headers["uaix-decision"]


async def test_a_slow_disk_refuses_beyond_its_room_at_once_and_answers_the_rest(house_with):
    slow, held, go_on = Event(), Event(), Event()

    def step(name: str) -> None:
        if slow.is_set() and name == "before_commit":
            held.set()
            assert go_on.wait(120)

    with house_with(step) as built:
        async with built.client() as client:
            assert (await client.get("/data")).status_code == 200
            slow.set()
            first = asyncio.ensure_future(client.get("/data"))
            await asyncio.to_thread(held.wait, 60)
            waiting = [asyncio.ensure_future(client.get("/data")) for _ in range(GOVERNED + 20)]
            early, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert all(refused(task.result()) for task in early)
            assert (await client.get(f"{PREFIX}/ladder")).status_code == 200, "what is not governed is answered"
            go_on.set()
            answers = [await first, *await asyncio.gather(*waiting)]
        # A database server ends a session that stands still for 5 s: then the batch that was held is refused, too.
        held_too = answers[0].status_code == 503
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(503) == 20 + held_too
        assert statuses.count(200) == GOVERNED + 1 - held_too
        assert len(built.calls) == GOVERNED + 2 - held_too
        assert built.negotiator.audit.verify().entries == GOVERNED + 2 - held_too


async def test_a_database_file_that_went_away_and_came_back_has_everything_that_was_answered(tmp_path: Path):
    with house(tmp_path) as built:
        data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
        async with built.client() as client:
            answers = [await client.get("/data")]
            data.rename(elsewhere)
            answers += [await client.get("/data") for _ in range(3)]
            elsewhere.rename(data)
            built.clock.advance(10)
            answers.append(await client.get("/data"))
        assert {answer.status_code for answer in answers} <= {200, 503}
        assert (answers[0].status_code, answers[-1].status_code) == (200, 200)
        answered = {answer.headers["uaix-decision"] for answer in answers if answer.status_code == 200}
    with house(tmp_path) as reopened:
        assert {entry["decision_id"] for entry in reopened.entries("decision")} == answered
        assert len(built.calls) == len(answered)


async def test_a_read_only_database_refuses_what_is_governed_and_serves_the_rest(tmp_path: Path):
    with house(tmp_path) as built:
        async with built.client() as client:
            assert (await client.get("/data")).status_code == 200
    file = tmp_path / "data" / "negotiator.db"
    with house(tmp_path, database=f"sqlite:///file:{file}?mode=ro&uri=true") as built:
        async with built.client() as client:
            assert refused(await client.get("/data"))
            assert (await client.get(f"{PREFIX}/ladder")).status_code == 200
        assert built.calls == []
        assert len(built.entries()) == 1
