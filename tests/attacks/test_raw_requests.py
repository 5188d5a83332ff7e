"""Bytes that no honest client sends, over raw sockets, to both of uvicorn's parsers and to `negotiator serve`.

A request whose end is not clear, or that is two requests to somebody, is refused, or not understood as a request at
all; whatever reached the site was decided as just that.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.cli import plain_environment, separately
from tests.support.serving import serving

SITE = """
from pathlib import Path

from negotiator import Negotiator, NegotiatorMiddleware, Settings

async def site(scope, receive, send):
    assert scope["type"] in {"http", "websocket"}
    with Path("reached").open("a", encoding="utf-8") as notes:
        notes.write(f"{scope.get('method', 'CONNECT')} {scope['path']}\\\\n")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})

governed = NegotiatorMiddleware(site, negotiator=Negotiator(Settings.load("negotiator.toml")))
""".replace("\\\\n", "\\n")
CONFIGURATION = """
database = "sqlite:///data/negotiator.db"
keys_dir = "keys"

[unmatched]
unsafe = "pass"

[[routes]]
match = "POST /write"
action = "post"
resource = "write"
undeclared = "pass"
undeclared_reason = "to see what reaches the site"

[[routes]]
match = "DELETE /secret"
action = "post"
resource = "secret"
"""
_PATIENCE_SECONDS = 0.5
"""How long a server may be silent before it is taken to wait for more of an attack that leaves it waiting."""

HOST = b"Host: 127.0.0.1\r\n"
GOVERNED = {"POST /write", "DELETE /secret"}
HIDDEN = b"DELETE /secret HTTP/1.1\r\n" + HOST + b"\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
ENDED = b"0\r\n\r\n"

HIDDEN_LAST = HIDDEN.replace(HOST, HOST + b"Connection: close\r\n")


def write(headers: bytes, content: bytes = b"") -> bytes:
    return b"POST /write HTTP/1.1\r\n" + HOST + headers + b"\r\n" + content


def length(count: int) -> bytes:
    return b"Content-Length: %d\r\n" % count


ATTACKS: dict[str, bytes] = {
    "length and chunked": write(length(len(ENDED + HIDDEN)) + CHUNKED, ENDED + HIDDEN),
    "chunked and length": write(CHUNKED + length(4), b"0\r\n\r\n" + HIDDEN),
    "two lengths": write(length(0) + length(len(HIDDEN)), HIDDEN),
    "the same length twice": write(length(2) * 2, b"ab"),
    "a list of lengths": write(b"Content-Length: 0, %d\r\n" % len(HIDDEN), HIDDEN),
    "a length with a sign": write(b"Content-Length: +0\r\n", HIDDEN),
    "a length in hex": write(b"Content-Length: 0x0\r\n", HIDDEN),
    "a blank before the colon": write(b"Content-Length : 0\r\n", HIDDEN),
    "a folded line": write(length(0) + b"X-A: b\r\n Transfer-Encoding: chunked\r\n", HIDDEN),
    "a folded coding": write(b"Transfer-Encoding:\r\n chunked\r\n" + length(len(ENDED)), ENDED),
    "a coding nobody knows": write(b"Transfer-Encoding: xchunked\r\n", ENDED + HIDDEN),
    "chunked not last": write(b"Transfer-Encoding: chunked, identity\r\n", ENDED + HIDDEN),
    "chunked twice": write(b"Transfer-Encoding: chunked, chunked\r\n", ENDED + HIDDEN),
    "a tab in chunked": write(b"Transfer-Encoding: \x0bchunked\r\n" + length(len(ENDED)), ENDED),
    "bare line feeds": b"POST /write HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 0\n\n" + HIDDEN,
    "a bare line feed in a header": write(b"X-A: b\nTransfer-Encoding: chunked\r\n", ENDED + HIDDEN),
    "a bare carriage return": write(b"X-A: b\rContent-Length: 5\r\n", HIDDEN),
    "a negative chunk": write(CHUNKED, b"-1\r\n" + HIDDEN),
    "a chunk size with a prefix": write(CHUNKED, b"0x0\r\n\r\n" + HIDDEN),
    "a chunk longer than it says": write(CHUNKED, b"1\r\nabc\r\n" + ENDED + HIDDEN),
    "a huge chunk size": write(CHUNKED, b"f" * 40 + b"\r\n" + HIDDEN),
    "a trailer that is announced": write(CHUNKED + b"Trailer: X-Sum\r\n", b"0\r\nX-Sum: 1\r\n\r\n"),
    "no host": b"POST /write HTTP/1.1\r\n" + length(0) + b"\r\n",
    "two hosts": write(HOST + length(0)),
    "a foreign host": b"POST /write HTTP/1.1\r\nHost: evil.example\r\n" + length(0) + b"\r\n",
    "an odd host": b"POST /write HTTP/1.1\r\nHost: 127.0.0.1@evil\r\n" + length(0) + b"\r\n",
    "a nul in a header": write(b"X-A: a\x00b\r\n" + length(0)),
    "a nameless header": write(b": b\r\n" + length(0)),
    "a line that is no header": write(b"nonsense\r\n" + length(0)),
    "two blanks": b"POST  /write HTTP/1.1\r\n" + HOST + length(0) + b"\r\n",
    "a version nobody speaks": b"POST /write HTTP/3.7\r\n" + HOST + length(0) + b"\r\n",
    "no version": b"POST /write\r\n\r\n",
    "http/2 out of the blue": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}
UPGRADE = b"Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"


PASSES = {
    "serve": {"two blanks"},
    "httptools": {"two blanks"},
    "h11": {
        "a bare line feed in a header",
        "a folded line",
        "a version nobody speaks",
        "bare line feeds",
        "http/2 out of the blue",
        "the same length twice",
    },
}
"""What each parser reads as a request all the same, in the one way that there is: it is governed like any other."""


@dataclass
class Served:
    """A server at work in `folder`, and what it answered to each attack."""

    name: str
    folder: Path
    port: int
    answers: dict[str, bytes] = field(default_factory=dict)

    def exchange(self, sent: bytes, patience_seconds: float = 60.0) -> bytes:
        """Send bytes and return everything that comes back until the server closes, or is silent for too long."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience_seconds) as raw:
            raw.sendall(sent)
            with suppress(TimeoutError, ConnectionResetError):
                while received := raw.recv(65_536):
                    answer += received
        return answer

    @property
    def reached(self) -> list[str]:
        """The governed requests that reached the site."""
        notes = self.folder / "reached"
        every = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
        return [line for line in every if line in GOVERNED]

    @property
    def intents(self) -> list[str]:
        """The same as the ledger has them."""
        variables = {"NEGOTIATOR_CONFIG": "negotiator.toml"}
        entries = separately("ledger", "tail", "--json", "--count", "1000", folder=self.folder, **variables).document
        return [entry["request"]["route"] for entry in entries if entry["kind"] == "intent"]


def statuses(answer: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3})", answer)]


@contextmanager
def _uvicorn(folder: Path, parser: str) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number, port = listener.fileno(), listener.getsockname()[1]
        options = ("--http", parser, "--fd", str(number), "--lifespan", "on", "--log-level", "warning")
        command = [sys.executable, "-m", "uvicorn", *options, "raw_site:governed"]
        with subprocess.Popen(command, cwd=folder, env=plain_environment(), pass_fds=[number]) as process:
            try:
                yield port
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)


@contextmanager
def _serve(folder: Path) -> Iterator[int]:
    site = folder / "plain_site.py"
    site.write_text(SITE.partition("governed = ")[0] + "app = site\n", encoding="utf-8")
    with serving(folder, "--app", "plain_site:app", "--config", "negotiator.toml") as client:
        port = client.base_url.port
        assert port is not None
        yield port


@pytest.fixture(scope="module", params=["serve", "h11", "httptools"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "negotiator.toml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "raw_site.py").write_text(SITE, encoding="utf-8")
    running = _serve(folder) if request.param == "serve" else _uvicorn(folder, request.param)
    with running as port:
        served = Served(request.param, folder, port)
        served.answers = {name: served.exchange(sent, _PATIENCE_SECONDS) for name, sent in ATTACKS.items()}
        yield served


def test_honest_requests_on_one_connection_are_each_decided(server):
    before = len(server.reached)
    answer = server.exchange(write(length(2), b"ab") + write(CHUNKED, b"2\r\nab\r\n" + ENDED) + HIDDEN_LAST)
    assert statuses(answer) == [200, 200, 401]
    assert server.reached[before:] == ["POST /write"] * 2


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_unclear_request_is_refused_and_hides_no_other(server, attack):
    allowed = ([200], []) if attack in PASSES[server.name] else ([400], [401], [421], [501], [])
    assert statuses(server.answers[attack])[:1] in allowed, server.answers[attack]


def test_a_cleartext_upgrade_is_not_followed(server):
    assert statuses(server.exchange(write(length(0) + UPGRADE))) == [200]


def test_whatever_reached_the_site_was_decided_as_that(server):
    reached = Counter(server.reached)
    assert "DELETE /secret" not in reached
    assert reached <= Counter(server.intents)
