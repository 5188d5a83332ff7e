"""kill -9 at every step of a request, under load: whatever was answered is recorded, and nothing happens twice.

A process of its own serves over real sockets and kills itself; eight clients ask at once, so that the batch that is
cut has neighbours. What a killed process leaves open is ended by the sweep, after a whole lease; nobody knows then,
until somebody says so: what was done stays done, and what was not is run by the next who brings the key.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from negotiator.assembly import Negotiator
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.model.records import Settled
from negotiator.shipped import load_catalog
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.house import PREFIX, settings_in
from tests.support.killed import STEPS, assert_nothing_is_missing, effects_in, sweep, task_site, victim

CLIENTS = 8
MOST_TASKS = 60


@dataclass
class Load:
    """What the clients saw.

    Attributes:
        answered: the statuses of the tasks that were answered whole, by name.
        decided: the decisions of the reads that were answered whole.
        cut: the tasks that were cut off.
        left_alone: how many clients were cut off, in a task or in a read.
        under_way: is set once each client has been answered three times or so.
    """

    headers: dict[str, str]
    answered: dict[str, int] = field(default_factory=dict)
    decided: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    left_alone: int = 0
    under_way: asyncio.Event = field(default_factory=asyncio.Event)

    def sent_with(self, name: str) -> dict[str, str]:
        """Return the headers of a task: its name is its correlation id and its key."""
        return self.headers | {
            "uaix-correlation": name,
            "uaix-expires": "2099-01-01T00:00:00Z",
            "idempotency-key": name,
        }

    async def run(self, url: str) -> None:
        """Ask from `CLIENTS` connections at once, until the server is gone."""
        await asyncio.gather(*(self._ask(url, number) for number in range(CLIENTS)))

    async def _ask(self, url: str, number: int) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            for turn in range(MOST_TASKS):
                name = f"task-{number}-{turn}"
                try:
                    answer = await client.post("/task", content=name.encode(), headers=self.sent_with(name))
                    self.answered[name] = answer.status_code
                    read = await client.get("/data", headers=self.headers)
                    self.decided.add(read.headers["uaix-decision"])
                    if len(self.answered) > 3 * CLIENTS:
                        self.under_way.set()
                except httpx.TransportError:
                    self.left_alone += 1
                    if name not in self.answered:
                        self.cut.add(name)
                    return


def agent_of(negotiator: Negotiator, url: str) -> dict[str, str]:
    """Register an agent, let it declare itself over HTTP, and return what it sends to the site."""
    api_token = negotiator.administration.add_agent("worker", max_level=Level.L4, actor="test").api_token
    document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L4]]
    own = {"authorization": f"Bearer {api_token}"}
    answer = httpx.post(f"{url}{PREFIX}/negotiations", json=document, headers=own, timeout=60)
    assert answer.status_code == 201, answer.text
    return {"uaix-credential": api_token, "uaix-negotiation": answer.json()["body"]["token"]}


@contextmanager
def survivor(folder: Path, database: str) -> Iterator[Negotiator]:
    negotiator = Negotiator(settings_in(folder, database=database))
    try:
        yield negotiator
    finally:
        negotiator.stop()


async def again(folder: Path, negotiator: Negotiator, load: Load) -> dict[str, str]:
    """Send every task that was cut off again, with its key, to a new process; return what it was told."""
    app = NegotiatorMiddleware(task_site(folder / "effects"), negotiator=negotiator)
    transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
    told = {}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for name in sorted(load.cut):
            answer = await client.post("/task", content=name.encode(), headers=load.sent_with(name))
            told[name] = "done" if answer.status_code == 200 else str(answer.json()["code"])
    return told


@pytest.mark.parametrize("nth", [1, 7])
@pytest.mark.parametrize("step", STEPS)
async def test_whatever_was_answered_is_recorded_and_nothing_happens_twice(
    tmp_path: Path, database_url: str, step: str, nth: int
):
    effects = tmp_path / "effects"
    with victim(tmp_path, database_url, step, nth) as (process, url), survivor(tmp_path, database_url) as negotiator:
        load = Load(await asyncio.to_thread(agent_of, negotiator, url))
        await load.run(url)
        assert await asyncio.to_thread(process.wait, 60) == -signal.SIGKILL
        assert load.left_alone > 1, "the one that was cut had no neighbours"
        assert set(load.answered.values()) <= {200}
        unfinished = assert_nothing_is_missing(negotiator, effects=effects_in(effects), answered=load.answered)
        assert unfinished.keys() <= load.cut
        told = await again(tmp_path, negotiator, load)
        assert {name for name, heard in told.items() if heard == "idempotency_in_flight"} == unfinished.keys()
        assert set(told.values()) <= {"done", "idempotency_in_flight"}, "an outcome, and no answer"
        done = {name: 200 for name, heard in told.items() if heard == "done"}
        left = assert_nothing_is_missing(negotiator, effects=effects_in(effects), answered=load.answered | done)
        assert left == unfinished, "what is unknown was not run again"
        await asyncio.to_thread(sweep, negotiator)
        assert {effect.decision_id for effect in negotiator.effects.unfinished()} == set(unfinished.values())
        told = await again(tmp_path, negotiator, load)
        assert {name for name, heard in told.items() if heard == "outcome_unknown"} == unfinished.keys()
        happened = set(effects_in(effects))
        await asyncio.to_thread(settle, negotiator, unfinished, happened)
        told = await again(tmp_path, negotiator, load)
        assert {name: heard for name, heard in told.items() if name in unfinished} == {
            name: "idempotency_answer_not_stored" if name in happened else "done" for name in unfinished
        }
        assert sorted(effects_in(effects)) == sorted({*happened, *unfinished}), "each happened, and once"


def settle(negotiator: Negotiator, unfinished: Mapping[str, str], happened: set[str]) -> None:
    """Say what became of each unknown effect, as its site's own books show it."""
    for name, effect_id in unfinished.items():
        settled = Settled.DONE if name in happened else Settled.NOT_DONE
        negotiator.settlements.settle_here(effect_id, settled, note="the books", actor="test")


async def test_told_to_stop_under_load_everything_answered_is_in_the_log(tmp_path: Path, database_url: str):
    with (
        victim(tmp_path, database_url, "none", 1) as (process, url),
        survivor(tmp_path, database_url) as negotiator,
    ):
        load = Load(await asyncio.to_thread(agent_of, negotiator, url))
        asking = asyncio.ensure_future(load.run(url))
        await asyncio.wait_for(load.under_way.wait(), 60)
        process.send_signal(signal.SIGTERM)
        await asking
        assert await asyncio.to_thread(process.wait, 60) in {0, -signal.SIGTERM}
        assert len(load.answered) < CLIENTS * MOST_TASKS, "it stopped before it was told"
        effects = effects_in(tmp_path / "effects")
        assert assert_nothing_is_missing(negotiator, effects=effects, answered=load.answered) == {}
        entries = {str(entry) for entry in negotiator.audit.tail(1_000_000)}
        assert all(any(decision in entry for entry in entries) for decision in load.decided)
