"""A real gunicorn that loads the application before it forks: two workers govern, write one chain, and stop cleanly."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx

from tests.support.cli import plain_environment, separately

SITE = """
import os

from negotiator import Negotiator, NegotiatorMiddleware, Settings
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

async def page(request):
    return PlainTextResponse(str(os.getpid()))

site = Starlette(routes=[Route("/page", page), Route("/comments", page, methods=["POST"])])
app = NegotiatorMiddleware(site, negotiator=Negotiator(Settings.load("negotiator.toml")))
"""
CONFIGURATION = """
database = "sqlite:///data/negotiator.db"
keys_dir = "keys"

[[routes]]
match = "GET /page"
action = "read_static"
resource = "pages"

[[routes]]
match = "POST /comments"
action = "post"
resource = "comments"
"""
COMMAND = ("-m", "gunicorn", "--worker-class", "asgi", "--preload", "--workers", "2", "--no-control-socket")


def test_a_preloaded_application_governs_in_each_worker(tmp_path: Path):
    (tmp_path / "forked_site.py").write_text(SITE, encoding="utf-8")
    (tmp_path / "negotiator.toml").write_text(CONFIGURATION, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number, port = listener.fileno(), listener.getsockname()[1]
        command = [sys.executable, *COMMAND, "--bind", f"fd://{number}", "forked_site:app"]
        with subprocess.Popen(
            command, cwd=tmp_path, env=plain_environment(), pass_fds=[number], stderr=subprocess.PIPE, text=True
        ) as server:
            try:
                workers = _ask_until_both_answered(f"http://127.0.0.1:{port}")
            finally:
                server.send_signal(signal.SIGTERM)
                _, log = server.communicate(timeout=60)
    assert (server.returncode, "Traceback" in log) == (0, False), log
    assert len(set(workers)) == 2
    configured = {"folder": tmp_path, "NEGOTIATOR_CONFIG": "negotiator.toml"}
    entries = separately("ledger", "tail", "--json", "--count", "1000", **configured).document
    decisions = [entry["decision"] for entry in entries]
    assert (decisions.count("allow"), decisions.count("deny")) == (len(workers), 1)
    verified = separately("ledger", "verify", "--json", **configured)
    assert (verified.status, verified.document["entries"]) == (0, len(workers) + 1)


def _ask_until_both_answered(address: str) -> list[str]:
    """Return the worker of each governed answer, each on a connection of its own, until both have been seen."""
    seen: list[str] = []
    assert httpx.post(f"{address}/comments", timeout=60).json()["code"] == "declaration_required"
    while len(set(seen)) < 2:
        answer = httpx.get(f"{address}/page", timeout=60)
        assert (answer.status_code, answer.headers["uaix-level"]) == (200, "L0")
        seen.append(answer.text)
        assert len(seen) < 900, "one worker answers everything"
    return seen
