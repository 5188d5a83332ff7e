"""What a governed request costs over HTTP: servers in processes of their own, 16 connections that stay open.

`durable_vs_not`           a governed read, decided anew: recorded over not recorded
`durable_vs_not_effect`    an effect, decided anew: intent and outcome recorded over nothing recorded
`durable_cached_rate`      governed reads from the cache, against HTTP and one durable entry without policies
`request_sum`              a declaration over the sum of its parts: bare Cedar, the schema's check, HTTP and one entry
`governed_under_flood`     an agent's governed reads while 1,000 anonymous declarations a second arrive, against none
`passthrough_p99_busy`     the slowest 1 % of ungoverned requests while decisions run at half capacity, against idle
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

import httpx
import orjson

from bench.decide import bare
from bench.measure import Row, ratio
from bench.served import ROUTES
from negotiator.assembly import load_engine
from negotiator.messages import Validator, decode_message
from negotiator.messages.facts import declaration_of
from negotiator.model.decisions import Decision, Query
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.policy import Bundle, Engine, surface_of
from negotiator.services.assessment import assess
from negotiator.services.callers import NOBODY
from negotiator.shipped import load_catalog
from negotiator.store import SystemClock
from tests.support.databases import KINDS, new_database

__all__ = ["rows"]

_CONNECTIONS = 16
_BURST = 960
_DECLARATION = orjson.dumps(load_catalog().examples[PROFILE_OF_LEVEL[Level.L2]])


@dataclass(frozen=True, slots=True)
class _Server:
    port: int
    api_token: str

    def get(self, path: str, token: str = "", *, identified: bool = False) -> bytes:
        own = f"UAIX-Negotiation: {token}\r\n" if token else ""
        own += f"UAIX-Credential: {self.api_token}\r\n" if identified else ""
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{own}\r\n".encode()

    def post(self, path: str, body: bytes) -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def token(self, *, identified: bool = False) -> str:
        own = {"uaix-credential": self.api_token} if identified else {}
        answer = httpx.post(
            f"http://127.0.0.1:{self.port}/uaix/v1/negotiations",
            content=_DECLARATION,
            headers={"content-type": "application/json", **own},
        )
        return str(answer.raise_for_status().json()["body"]["token"])


def rows() -> Iterator[Row]:
    """Yield the rows over HTTP."""
    with _running("whole") as whole, _running("forgetful") as forgetful, _loop() as loop:
        read = _against(loop, whole, forgetful, "/page")
        yield ratio(*read, strides=11, calls=1, warm_up=2).row("durable_vs_not", bound=1.25)
        effect = _against(loop, whole, forgetful, "/screen")
        yield ratio(*effect, strides=11, calls=1, warm_up=2).row("durable_vs_not_effect", bound=1.5)
    with _running("cached") as cached, _running("floor") as floor, _loop() as loop:
        yield ratio(*_against(loop, cached, floor, "/page"), strides=11, calls=1, warm_up=2).rate_row(
            "durable_cached_rate", bound=0.5
        )
        yield _request_sum(loop, floor)
    for kind in KINDS:
        yield from _under_flood(kind)
    yield _busy()


def _against(
    loop: asyncio.AbstractEventLoop, ours: _Server, other: _Server, path: str
) -> tuple[Callable[[], object], Callable[[], object]]:
    def burst(server: _Server, token: str) -> Callable[[], object]:
        request = server.get(path, token)
        return lambda: loop.run_until_complete(_burst(server, request, _BURST))

    second = "" if other is ours else (other.token() if _governs(other) else "")
    return burst(ours, ours.token()), burst(other, second)


def _governs(server: _Server) -> bool:
    return httpx.get(f"http://127.0.0.1:{server.port}/.well-known/uaix.json").text.startswith("{")


async def _burst(server: _Server, request: bytes, count: int, connections: int = _CONNECTIONS) -> None:
    async def one(times: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(times):
            await _exchange(reader, writer, request)
        writer.close()

    await asyncio.gather(*(one(count // connections) for _ in range(connections)))


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head[9:12])


def _request_sum(loop: asyncio.AbstractEventLoop, floor: _Server) -> Row:
    """Compare anonymous declarations, one after the other, with what they are made of."""
    parts = _bare_parts()
    plain = floor.post("/declare", _DECLARATION)
    with _running("whole") as whole:
        declare = whole.post("/uaix/v1/negotiations", _DECLARATION)
        subject = lambda: loop.run_until_complete(_burst(whole, declare, 8, connections=1))  # noqa: E731

        def baseline() -> None:
            loop.run_until_complete(_burst(floor, plain, 8, connections=1))
            for _ in range(8):
                for part in parts:
                    part()

        return ratio(subject, baseline, strides=11, calls=2, warm_up=2).row("request_sum", bound=1.35)


def _bare_parts() -> Sequence[Callable[[], object]]:
    """Return what one declaration asks, each round put to the bare engine, and the check of its schema."""
    catalog, shipped = load_catalog(), load_engine(None)
    message = decode_message(_DECLARATION, catalog)
    engine = _Noting(shipped.bundle, cache_size=0)
    assess(
        engine,
        declaration_of(message, now=SystemClock().now()),
        NOBODY,
        strict=False,
        schema_findings=(),
        surface=surface_of([route.rule() for route in ROUTES]),
    )
    validator = Validator(catalog)
    rounds = [bare(engine.bundle, queries) for queries in engine.rounds]
    return [*rounds, lambda: validator.check_message(message, strict=False)]


class _Noting(Engine):
    """An engine that keeps what it was asked."""

    def __init__(self, bundle: Bundle, *, cache_size: int) -> None:
        super().__init__(bundle, cache_size=cache_size)
        self.rounds: list[Sequence[Query]] = []

    def decide_all(self, queries: Sequence[Query], *, capping: bool = False) -> list[Decision]:
        self.rounds.append(queries)
        return super().decide_all(queries, capping=capping)


def _under_flood(kind: str) -> Iterator[Row]:
    with _running("shipped", kind) as server, _loop() as loop:
        request = server.get("/page", server.token(identified=True), identified=True)
        with _load(server, server.post("/uaix/v1/negotiations", _DECLARATION), 1_000) as pressed:
            burst = lambda: loop.run_until_complete(_burst(server, request, _BURST))  # noqa: E731
            name = "governed_under_flood" if kind == "sqlite" else f"governed_under_flood_{kind}"
            yield ratio(_while(pressed, burst), burst, strides=11, calls=1, warm_up=2).rate_row(name, bound=0.8)


def _busy() -> Row:
    with _running("whole") as server, _loop() as loop:
        governed = server.get("/page", server.token())
        capacity = _BURST / _seconds(lambda: loop.run_until_complete(_burst(server, governed, _BURST)))
        plain = server.get("/plain")
        with _load(server, governed, capacity / 2) as pressed:
            slowest: list[tuple[float, float]] = []
            for _ in range(9):
                idle = loop.run_until_complete(_slowest(server, plain, 400))
                with _pressing(pressed):
                    busy = loop.run_until_complete(_slowest(server, plain, 400))
                slowest.append((busy, idle))
    found = median(busy for busy, _ in slowest) / median(idle for _, idle in slowest)
    return Row(
        name="passthrough_p99_busy", ratio=round(found, 4), bound=3.0, better="lower", ok=found <= 3.0, control=1.0
    )


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


async def _slowest(server: _Server, request: bytes, count: int) -> float:
    """Return the 99th percentile of the seconds that a request takes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    times = []
    for _ in range(count):
        start = perf_counter()
        await _exchange(reader, writer, request)
        times.append(perf_counter() - start)
    writer.close()
    return quantiles(times, n=100)[98]


def _while(pressed: subprocess.Popen[bytes], work: Callable[[], object]) -> Callable[[], None]:
    """Return `work` while the load runs."""

    def both() -> None:
        with _pressing(pressed):
            work()

    return both


@contextmanager
def _pressing(pressed: subprocess.Popen[bytes]) -> Iterator[None]:
    pressed.send_signal(signal.SIGCONT)
    try:
        yield
    finally:
        pressed.send_signal(signal.SIGSTOP)


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@contextmanager
def _running(variant: str, kind: str = "sqlite") -> Iterator[_Server]:
    """Run a server in a process of its own."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = stack.enter_context(new_database(kind, Path(folder) / "data"))
        command = [sys.executable, "-m", "bench.served", variant, url, folder]
        process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            port, api_token = process.stdout.readline().decode().split()
            yield _Server(int(port), api_token)
        finally:
            process.stdin.close()
            process.wait(30)


@contextmanager
def _load(server: _Server, request: bytes, rate: float) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process, stopped, that sends `request` at `rate` a second while it may run."""
    command = [sys.executable, "-m", "bench.load", str(server.port), str(rate)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.close()
        process.send_signal(signal.SIGSTOP)
        try:
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
