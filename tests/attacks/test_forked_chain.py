"""Four processes write to one database as fast as they can: one chain, nothing lost, each entry once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import orjson

from negotiator.store import SystemClock, open_store
from tests.support.cli import plain_environment
from tests.support.stores import verified

PROCESSES, APPENDS = 4, 500

SCRIPT = """
import asyncio, sys
from negotiator.store import SystemClock, open_store
from tests.support.stores import appending

async def main(url, name):
    store = open_store(url, project="site", clock=SystemClock())
    print("ready", flush=True)
    sys.stdin.readline()
    for batch in range(50):
        placed = await asyncio.gather(*(store.transact(appending(writer=name, n=10 * batch + n)) for n in range(10)))
        assert len({each.index for each in placed}) == 10
    store.stop()

asyncio.run(main(*sys.argv[1:]))
"""


def test_four_processes_append_to_one_chain(tmp_path: Path, database_url: str):
    (tmp_path / "data").mkdir(exist_ok=True)
    store = open_store(database_url, project="site", clock=SystemClock())
    writers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", SCRIPT, database_url, str(name)],
            env=plain_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in range(PROCESSES)
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * PROCESSES
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=300)
    assert [writer.returncode for writer in writers] == [0] * PROCESSES
    assert verified(store).entries == PROCESSES * APPENDS
    entries = [orjson.loads(line) for line in store.read_sync(lambda reader: list(reader.ledger.lines()))]
    store.stop()
    assert Counter(entry["writer"] for entry in entries) == {str(name): APPENDS for name in range(PROCESSES)}
    for name in range(PROCESSES):
        own = [entry["n"] for entry in entries if entry["writer"] == str(name)]
        assert sorted(own) == list(range(APPENDS))
    turns = sum(before["writer"] != after["writer"] for before, after in pairwise(entries))
    assert turns >= PROCESSES, "they did not write at the same time"
