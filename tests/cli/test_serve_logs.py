"""What `negotiator serve` logs, in a process of its own, over real sockets: whole lines, and no secret in them."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import PROGRAM, plain_environment

CANARY = "canary-5f1d"
HANDSHAKE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + "A" * 22 + "=="
)
REQUESTS = (
    f"GET /elsewhere%0A{{%22forged%22:1}}%E2%80%AE%00?token={CANARY} HTTP/1.1\r\nConnection: close",
    f"GET /elsewhere?token={CANARY} HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer {CANARY}",
    f"GET /?token={CANARY} HTTP/1.1\r\n{HANDSHAKE}\r\nSec-WebSocket-Protocol: {CANARY}",
    f"GET /{CANARY}bad path HTTP/9.9\r\n{CANARY}",
)


def ask(port: int, head: str) -> None:
    """Send one request as it is and read what comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"{head}\r\nHost: 127.0.0.1\r\n\r\n".encode())
        while connection.recv(65_536):
            pass


def logged(folder: Path, log_format: str, access_log: str) -> list[str]:
    command = [*PROGRAM, "serve", "--port", "0"]
    variables = {"NEGOTIATOR_LOG_FORMAT": log_format, "NEGOTIATOR_ACCESS_LOG": access_log}
    with subprocess.Popen(
        command, cwd=folder, env=plain_environment(**variables), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        port = re.search(r"serving on http://127\.0\.0\.1:([0-9]+)/", first)
        assert port, first
        for request in REQUESTS:
            ask(int(port[1]), request)
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 0, rest
    return [*first.splitlines(), *rest.split("\n")[:-1]]


@pytest.mark.parametrize("access_log", ["true", "false"])
def test_json_is_one_object_to_a_line(tmp_path: Path, access_log: str):
    lines = logged(tmp_path, "json", access_log)
    assert all(line.isascii() and line.isprintable() for line in lines)
    objects = [json.loads(line) for line in lines]
    assert all({"time", "severity", "logger", "message"} <= each.keys() for each in objects)
    requests = [each for each in objects if each["logger"] == "negotiator.access"]
    assert CANARY not in "".join(line for line in lines)
    if access_log == "false":
        assert requests == []
    else:
        assert [each["path"] for each in requests[:2]] == ['/elsewhere\n{"forged":1}\u202e\x00', "/elsewhere"]
        assert [each["message"] for each in requests] == ["request", "request", "socket"]


def test_text_is_one_event_to_a_line(tmp_path: Path):
    _, *lines = logged(tmp_path, "text", "1")
    assert CANARY not in "".join(lines)
    assert all(re.match(r"[0-9T:.Z-]{27} [a-z]+ [a-z._]+: [ -~]*\Z", line) for line in lines), lines
    assert len([line for line in lines if " negotiator.access: " in line]) == 3
