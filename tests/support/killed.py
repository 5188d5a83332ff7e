"""A server that kills or freezes itself at a chosen step, and what must hold of what it leaves behind.

Run as `python -m tests.support.killed FOLDER DATABASE STEP NTH SIGNAL`: it serves on a free port, prints the port, and
sends itself SIGNAL (SIGKILL or SIGSTOP) the NTH time that it comes to STEP after the first task was asked for. With the
step `none` it lives. What stopped goes on from that very step when it is sent SIGCONT.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import Any, Final

import orjson
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from negotiator import assembly
from negotiator.assembly import Negotiator
from negotiator.ports import Reader
from negotiator.services.leases import LEASE_SECONDS, Leases
from negotiator.store import open_store
from negotiator.store.writer import STEPS as WRITER_STEPS
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.cli import plain_environment
from tests.support.house import settings_in
from tests.support.time import StillClock

__all__ = ["STEPS", "assert_nothing_is_missing", "effects_in", "sweep", "task_site", "victim"]

STEPS: Final = (*WRITER_STEPS, "before_effect", "site_effect", "before_last_byte", "after_last_byte")
"""Where a request can be cut off: the writer's steps, around the site's effect, around the last byte of its answer."""

Hook = Callable[[str], None]


def task_site(effects: Path, step: Hook = lambda _name: None) -> ASGIApp:
    """Return a site whose effect is a line in `effects`: the request's body, written through to the disk."""

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] == "/task":
            step("before_effect")
            _write_through(effects, body + b"\n")
            step("site_effect")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"done"})

    return site


def effects_in(effects: Path) -> list[str]:
    """Return the effects that the site had, in their order."""
    return effects.read_text().splitlines() if effects.exists() else []


def assert_nothing_is_missing(
    negotiator: Negotiator, *, effects: Iterable[str], answered: Mapping[str, int]
) -> Mapping[str, str]:
    """Hold what is left behind against the promises; return the open intents: request name to decision id.

    Args:
        negotiator: on the same database, in another process.
        effects: the names of the requests that the site carried out.
        answered: the statuses of the tasks whose answer came to the client whole, by request name.
    """
    entries = [orjson.loads(line) for line in negotiator.audit.tail(1_000_000)]
    assert negotiator.audit.verify().entries == len(entries)
    intents = {entry["correlation_id"]: entry["decision_id"] for entry in entries if entry["kind"] == "intent"}
    outcomes = [entry["decision_id"] for entry in entries if entry["kind"] == "outcome"]
    done = list(effects)
    assert len(set(done)) == len(done), "an effect happened twice"
    assert set(done) <= intents.keys(), "an effect happened without its intent"
    assert len(set(outcomes)) == len(outcomes), "an effect ended twice"
    assert set(outcomes) <= set(intents.values()), "an outcome of nothing"
    whole = {name for name, status in answered.items() if status == 200}
    assert {intents[name] for name in whole} <= set(outcomes), "an answer came whole before its outcome was recorded"
    assert whole <= set(done), "an answer came of an effect that did not happen"
    unfinished = {name: decision for name, decision in intents.items() if decision not in set(outcomes)}
    assert _open_among(negotiator, intents.values()) == set(unfinished.values())
    return unfinished


def _open_among(negotiator: Negotiator, decision_ids: Iterable[str]) -> set[str]:
    def query(reader: Reader) -> set[str]:
        return {each for each in decision_ids if (intent := reader.intents.get(each)) and intent.ended_at is None}

    return negotiator.store.read_sync(query)


def sweep(negotiator: Negotiator) -> None:
    """Let a whole lease pass in which nobody stirs."""
    clock = StillClock()
    leases = Leases(clock)
    for _ in range(2):
        negotiator.store.transact_sync(leases.attend)
        clock.advance(LEASE_SECONDS)


def _write_through(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def victim(
    folder: Path, database: str, step: str, nth: int, how: signal.Signals = signal.SIGKILL
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server that ends or freezes itself; give it and its address."""
    module = [sys.executable, "-W", "error", "-m", "tests.support.killed"]
    command = [*module, folder, database, step, str(nth), how.name]
    with subprocess.Popen(command, env=plain_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


class _Killer:
    """Counts the passages through one step, from the first task on, and ends or stops the process at the chosen one."""

    def __init__(self, step: str, nth: int, how: signal.Signals) -> None:
        self._how = how
        self._continued = Event()
        signal.signal(signal.SIGCONT, lambda *_: self._continued.set())
        self._step = step
        self._left = nth
        self._lock = Lock()
        self.armed = False

    def __call__(self, name: str) -> None:
        with self._lock:
            if name != self._step or not self.armed:
                return
            self._left -= 1
            if self._left:
                return
            os.kill(os.getpid(), self._how)
            self._continued.wait()  # a signal to oneself from a thread is not immediate: nothing may happen after it


def _watched(app: ASGIApp, killer: _Killer) -> ASGIApp:
    """Call the killer around the last byte of each task's answer; the first task arms it."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/task":
            await app(scope, receive, send)
            return
        killer.armed = True

        async def sending(message: Message) -> None:
            last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if last:
                killer("before_last_byte")
            await send(message)
            if last:
                killer("after_last_byte")

        await app(scope, receive, sending)

    return watched


def main(folder: Path, database: str, step: str, nth: int, how: signal.Signals) -> None:
    """Serve until the end comes."""
    killer = _Killer(step, nth, how)
    assembly.open_store = partial(open_store, step=killer)  # type: ignore[assignment]
    negotiator = Negotiator(settings_in(folder, database=database))
    app = NegotiatorMiddleware(task_site(folder / "effects", killer), negotiator=negotiator)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        config: dict[str, Any] = {"log_level": "error", "lifespan": "on", "timeout_graceful_shutdown": 20}
        server = uvicorn.Server(uvicorn.Config(_watched(app, killer), **config))
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        server.run(sockets=[listener])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), signal.Signals[sys.argv[5]])
