"""Several processes on one database: one chain, nothing lost, and a forked child stands on its own."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.stores import verified

_APPEND = """
import asyncio, sys
from negotiator.store import SystemClock, RandomIds, open_store
from tests.support.stores import appending

async def main(url):
    store = open_store(url, project="site", clock=SystemClock(), ids=RandomIds())
    for _ in range(10):
        await asyncio.gather(*(store.transact(appending(n=n)) for n in range(20)))
    store.stop()

asyncio.run(main(sys.argv[1]))
"""

_FORK = """
import json, os, sys, threading
from negotiator.store import SystemClock, RandomIds, open_store
from tests.support.stores import appending

store = open_store(sys.argv[1], project="site", clock=SystemClock(), ids=RandomIds())
owner = lambda: store.transact_sync(lambda tx: tx.owner)
parent_owner = owner()
store.transact_sync(appending(n=1))
store.read_sync(lambda reader: reader.ledger.size())
out, into = os.pipe()
if os.fork() == 0:
    children = threading.active_count()
    store.transact_sync(appending(n=2))
    size = store.read_sync(lambda reader: reader.ledger.size())
    os.write(into, json.dumps({"owner": owner(), "same": owner(), "size": size, "threads": children}).encode())
    store.stop()
    os._exit(0)
_, status = os.wait()
child = json.loads(os.read(out, 4096))
store.transact_sync(appending(n=3))
print(json.dumps({"parent": parent_owner, "still": owner(), "child": child, "status": status}))
store.stop()
"""


def start(script: str, url: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-W", "error", "-c", script, url], stdout=subprocess.PIPE, text=True)


def test_two_processes_write_one_chain(shared_url, open_site):
    store = open_site(shared_url)
    writers = [start(_APPEND, shared_url) for _ in range(2)]
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert verified(store).entries == 400


def test_processes_that_start_together_prepare_one_database(shared_url, open_site):
    writers = [start(_APPEND, shared_url) for _ in range(3)]
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert verified(open_site(shared_url)).entries == 600


def test_a_forked_child_has_a_writer_and_an_owner_of_its_own(shared_url, open_site):
    writer = start(_FORK, shared_url)
    out, _ = writer.communicate(timeout=120)
    assert writer.returncode == 0
    told = json.loads(out)
    assert told["status"] == 0
    assert told["parent"] == told["still"]
    assert told["child"]["owner"] == told["child"]["same"] != told["parent"]
    assert told["child"]["size"] == 2
    assert verified(open_site(shared_url)).entries == 3
