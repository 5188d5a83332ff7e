"""A process that is stopped while it holds the ledger's head: the others are refused soon, and go on; nothing is lost.

PostgreSQL ends the session that stands still, so that the others go on without it, and what it had not committed is
nowhere. SQLite's lock belongs to the process: the others are refused until it goes on, and then its entry is there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import orjson
import pytest

from negotiator.errors import UnavailableError
from negotiator.services.audit import Audit
from negotiator.store import SqlStore, SystemClock, open_store
from tests.support.cli import plain_environment
from tests.support.stores import appending

_FREEZING = """
import sys
from negotiator.errors import UnavailableError
from negotiator.store import SystemClock, open_store
from tests.support.stores import appending

def step(name):
    if name == "before_commit" and armed:
        armed.clear()
        print("held", flush=True)
        sys.stdin.readline()

armed = []
store = open_store(sys.argv[1], project="site", clock=SystemClock(), step=step)
store.transact_sync(appending(n=1))
armed.append(True)
try:
    store.transact_sync(appending(n=2))
    print("committed", flush=True)
except UnavailableError as error:
    print(error.code, flush=True)
store.transact_sync(appending(n=3))
store.stop()
"""
GIVE_UP_SECONDS = 60
_PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}


@contextmanager
def frozen(database_url: str) -> Iterator[subprocess.Popen[str]]:
    """Give a process that was stopped inside its transaction, before the commit."""
    command = [sys.executable, "-W", "error", "-c", _FREEZING, database_url]
    with subprocess.Popen(command, env=plain_environment(), **_PIPES) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            yield process
        finally:
            process.kill()


def write_at_last(store: SqlStore, n: int) -> None:
    """Write a unit, however often it is refused before."""
    until = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < until:
        with suppress(UnavailableError):
            store.transact_sync(appending(n=n))
            return
        time.sleep(0.1)
    pytest.fail("the others never go on")


def test_the_others_go_on_and_nothing_is_lost(tmp_path, database_url: str):
    (tmp_path / "data").mkdir(exist_ok=True)
    other = open_store(database_url, project="site", clock=SystemClock())
    other.transact_sync(appending(n=0))
    with frozen(database_url) as process:
        if database_url.startswith("sqlite"):
            with pytest.raises(UnavailableError) as caught:
                other.transact_sync(appending(n=10))
            assert caught.value.code == "ledger_unavailable"
        else:
            write_at_last(other, 10)
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate("go on\n", timeout=60)
        assert process.returncode == 0
        held = "committed\n" if database_url.startswith("sqlite") else "ledger_unavailable\n"
        assert said == held, "what it is told is what became of it"
    write_at_last(other, 11)
    audit = Audit(store=other, project="site")
    written = [orjson.loads(line)["n"] for line in audit.tail(100)]
    assert written == ([0, 1, 2, 3, 11] if database_url.startswith("sqlite") else [0, 1, 10, 3, 11])
    assert audit.verify().entries == len(written)
    other.stop()
