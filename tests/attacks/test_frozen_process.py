"""A process stands still while it holds the ledger's head: a paused machine, a debugger, a host that swaps.

It stops itself inside its batch, after it has taken the lock, with an intent or an outcome in hand. Meanwhile another
process wants to write. On PostgreSQL the server ends the frozen session, and the other goes on while the first one
still stands; on SQLite nobody can take the lock away, so the other refuses, holds no more than its lanes, and goes on
when the first one does. Either way there is one chain in the end, and what was answered is in it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

from negotiator.assembly import Negotiator
from negotiator.errors import UnavailableError
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.ports import Lane
from negotiator.shipped import load_catalog
from negotiator.store.lanes import LANE_CAPACITY
from tests.support.databases import new_database
from tests.support.house import PREFIX, settings_in
from tests.support.killed import assert_nothing_is_missing, effects_in, victim
from tests.support.stores import appending

IN_A_BATCH: Final = ("units_done", "before_commit")
INTENT, OUTCOME = 1, 2
LONGEST_SECONDS: Final = 20.0
"""The longest timeout (a transaction's, 10 s), one more wait for the lock, a pause of the writer, a slow machine."""
TASK: Final = "task-1"


@contextmanager
def survivor(folder: Path, database: str) -> Iterator[Negotiator]:
    negotiator = Negotiator(settings_in(folder, database=database))
    try:
        yield negotiator
    finally:
        negotiator.stop()


def agent_of(negotiator: Negotiator, url: str) -> dict[str, str]:
    api_token = negotiator.administration.add_agent("worker", max_level=Level.L4, actor="test").api_token
    document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L4]]
    own = {"authorization": f"Bearer {api_token}"}
    answer = httpx.post(f"{url}{PREFIX}/negotiations", json=document, headers=own, timeout=60)
    assert answer.status_code == 201, answer.text
    return {
        "uaix-credential": api_token,
        "uaix-negotiation": answer.json()["body"]["token"],
        "uaix-correlation": TASK,
        "uaix-expires": "2099-01-01T00:00:00Z",
        "idempotency-key": TASK,
    }


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    """Return when the process stands still; the system says so."""
    stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert stopped is not None
    assert (stopped.si_code, stopped.si_status) == (os.CLD_STOPPED, signal.SIGSTOP)


def assert_still_stopped(process: subprocess.Popen[str]) -> None:
    state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    assert state == "T"


def written_within_the_timeouts(negotiator: Negotiator) -> int:
    """Write one entry, asking again after each refusal; return how often it was refused."""
    until = time.monotonic() + LONGEST_SECONDS
    for refused in range(1_000_000):
        if refusal_of_a_write(negotiator) is None:
            return refused
        assert time.monotonic() < until, f"refused {refused} times"
    raise AssertionError


def refusal_of_a_write(negotiator: Negotiator) -> UnavailableError | None:
    """Write one entry; whatever else it raises is a failure of the test."""
    try:
        negotiator.store.transact_sync(appending(n=1))
    except UnavailableError as refusal:
        return refusal
    return None


@pytest.mark.slow
@pytest.mark.parametrize("nth", [INTENT, OUTCOME])
@pytest.mark.parametrize("step", IN_A_BATCH)
async def test_on_postgresql_the_others_go_on_while_it_stands(tmp_path: Path, step: str, nth: int):
    effects = tmp_path / "effects"
    with (
        new_database("postgresql", tmp_path) as database,
        victim(tmp_path, database, step, nth, signal.SIGSTOP) as (process, url),
        survivor(tmp_path, database) as negotiator,
    ):
        headers = await asyncio.to_thread(agent_of, negotiator, url)
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            asking = asyncio.ensure_future(client.post("/task", content=TASK.encode(), headers=headers))
            await asyncio.to_thread(wait_until_stopped, process)
            await asyncio.to_thread(written_within_the_timeouts, negotiator)
            assert_still_stopped(process)
            assert not asking.done()
            assert await asyncio.to_thread(written_within_the_timeouts, negotiator) == 0, "the lock is free for good"
            assert_still_stopped(process)
            process.send_signal(signal.SIGCONT)
            answer = await asking
            assert answer.status_code == 503, "what it had in hand was not written"
            assert answer.json()["code"] == ("ledger_unavailable" if nth == INTENT else "outcome_unknown")
            assert effects_in(effects) == ([] if nth == INTENT else [TASK])
            assert (await client.get("/data", headers=headers)).status_code == 200, "it works again"
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 60) in {0, -signal.SIGTERM}
        assert assert_nothing_is_missing(negotiator, effects=effects_in(effects), answered={TASK: 503}) == {}


@pytest.mark.slow
@pytest.mark.parametrize("nth", [INTENT, OUTCOME])
@pytest.mark.parametrize("step", IN_A_BATCH)
async def test_on_sqlite_the_others_refuse_hold_little_and_go_on_when_it_does(tmp_path: Path, step: str, nth: int):
    effects = tmp_path / "effects"
    with (
        new_database("sqlite", tmp_path / "data") as database,
        victim(tmp_path, database, step, nth, signal.SIGSTOP) as (process, url),
        survivor(tmp_path, database) as negotiator,
    ):
        store = negotiator.store
        headers = await asyncio.to_thread(agent_of, negotiator, url)
        size = store.read_sync(lambda reader: reader.ledger.size())
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            asking = asyncio.ensure_future(client.post("/task", content=TASK.encode(), headers=headers))
            await asyncio.to_thread(wait_until_stopped, process)
            crowd = 3 * LANE_CAPACITY[Lane.GOVERNED]
            wishes = [asyncio.ensure_future(store.transact(appending(n=n))) for n in range(crowd)]
            _, waiting = await asyncio.wait(wishes, return_when=asyncio.FIRST_COMPLETED)
            assert len(waiting) <= 2 * LANE_CAPACITY[Lane.GOVERNED], "more are held than a lane and a batch"
            assert store.waiting()[Lane.GOVERNED] <= LANE_CAPACITY[Lane.GOVERNED]
            results = await asyncio.wait_for(asyncio.gather(*wishes, return_exceptions=True), 2 * LONGEST_SECONDS)
            assert {type(each) for each in results} == {UnavailableError}
            assert {each.code for each in results if isinstance(each, UnavailableError)} == {"ledger_unavailable"}
            assert_still_stopped(process)
            during = store.read_sync(lambda reader: reader.ledger.size())
            assert during == size + (nth - INTENT), "reading goes on, and nothing of the refused was written"
            process.send_signal(signal.SIGCONT)
            await asyncio.to_thread(written_within_the_timeouts, negotiator)
            answer = await asking
            assert answer.status_code == 200, "what it had in hand was written after all"
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 60) in {0, -signal.SIGTERM}
        assert assert_nothing_is_missing(negotiator, effects=effects_in(effects), answered={TASK: 200}) == {}
