"""SIGUSR1 stops agents, SIGUSR2 lets them in again: real processes, and what the ledger says afterwards."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.cli import PROGRAM, plain_environment, separately

PREFIX = "/uaix/v1"
LONGEST_SECONDS = 30


class Server:
    """A served demo site and its process."""

    def __init__(self, process: subprocess.Popen[str], client: httpx.Client) -> None:
        self.process = process
        self.client = client

    def reasons(self) -> list[str]:
        return [each["code"] for each in self.client.get(f"{PREFIX}/readyz").json()["conditions"]]

    def status(self) -> int:
        return self.client.get("/articles/ladder").status_code

    def becomes(self, status: int) -> None:
        """Wait for the answer: a signal has no reply of its own."""
        until = time.monotonic() + LONGEST_SECONDS
        while self.status() != status:
            assert time.monotonic() < until, f"it did not become {status}"


@contextmanager
def served(folder: Path, **variables: str) -> Iterator[Server]:
    command = [*PROGRAM, "serve", "--port", "0"]
    environment = plain_environment(**variables)
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.match(r"serving on (http://\S+?)/uaix/v1/ ", process.stderr.readline())
        assert found
        try:
            with httpx.Client(base_url=found[1], timeout=30) as client:
                yield Server(process, client)
        finally:
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "Traceback" not in err


def changes(folder: Path) -> list[tuple[str, str]]:
    entries = separately("ledger", "tail", "--count", 100_000, "--json", folder=folder).document
    return [(e["before"], e["now"]) for e in entries if e.get("code") == "kill_switch_changed"]


def test_a_signal_to_one_worker_reaches_all_and_each_change_is_one_entry(tmp_path: Path):
    with ExitStack() as stack:
        one, two = (stack.enter_context(served(tmp_path)) for _ in range(2))
        assert (one.status(), two.status()) == (200, 200)
        one.process.send_signal(signal.SIGUSR1)
        one.becomes(503)
        two.becomes(503)
        assert two.client.get("/articles/ladder").json()["code"] == "governance_stopped"
        assert "governance_stopped" in one.reasons()
        two.process.send_signal(signal.SIGUSR1)
        two.process.send_signal(signal.SIGUSR2)
        two.becomes(200)
        one.becomes(200)
    assert changes(tmp_path) == [("off", "on"), ("on", "off")]


def test_a_restart_does_not_let_agents_in(tmp_path: Path):
    with served(tmp_path) as server:
        server.process.send_signal(signal.SIGUSR1)
        server.becomes(503)
    assert (tmp_path / "var" / "kill-switch").stat().st_mode & 0o777 == 0o600
    with served(tmp_path) as server:
        assert server.status() == 503
        (tmp_path / "var" / "kill-switch").unlink()
        server.becomes(200)


@pytest.mark.parametrize("path", ["/proc/none/kill-switch"])
def test_where_the_file_cannot_be_made_the_process_stops_alone(tmp_path: Path, path: str):
    with served(tmp_path, NEGOTIATOR_KILL_SWITCH=path) as server:
        assert server.status() == 200
        server.process.send_signal(signal.SIGUSR1)
        server.becomes(503)
        server.process.send_signal(signal.SIGUSR2)
        server.becomes(200)
    assert changes(tmp_path) == [("off", "on"), ("on", "off")]
