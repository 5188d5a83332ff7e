"""WebSockets through `negotiator serve`, over real connections, beside the command line that revokes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from tests.support.cli import separately
from tests.support.serving import serving

SITE = """
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

async def talk(socket):
    await socket.accept()
    async for text in socket.iter_text():
        if text == "enough":
            await socket.close(3000)
            return
        await socket.send_text(text.upper())

app = Starlette(routes=[WebSocketRoute("/live", talk), WebSocketRoute("/closed", talk)])
"""
CONFIGURATION = """
[[routes]]
match = "GET /live"
action = "render_ui"
resource = "live"
undeclared = "deny"
websocket = "connect"

[[routes]]
match = "GET /closed"
action = "render_ui"
resource = "closed"
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "talking_site.py").write_text(SITE, encoding="utf-8")
    (tmp_path / "negotiator.toml").write_text(CONFIGURATION, encoding="utf-8")
    return tmp_path


def headers_of(client: httpx.Client, api_token: str) -> dict[str, str]:
    document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L3]]
    own = {"authorization": f"Bearer {api_token}"}
    token = client.post("/uaix/v1/negotiations", json=document, headers=own).json()["body"]["token"]
    return {"UAIX-Negotiation": token, "UAIX-Credential": api_token}


def entries(folder: Path, kind: str) -> list[dict[str, Any]]:
    every = separately("ledger", "tail", "--json", "--config", "negotiator.toml", folder=folder).document
    return [entry for entry in every if entry["kind"] == kind]


def test_a_socket_is_refused_decided_counted_and_ended(site):
    with serving(site, "--app", "talking_site:app", "--config", "negotiator.toml") as client:
        address = f"ws://127.0.0.1:{client.base_url.port}"
        added = separately("agent", "add", "helper", "--config", "negotiator.toml", folder=site)
        headers = headers_of(client, added.out.strip())
        for path, status, code in (("/live", 401, "declaration_required"), ("/closed", 403, "refused")):
            with pytest.raises(InvalidStatus) as refused:
                connect(f"{address}{path}")
            assert refused.value.response.status_code == status
            assert f'"code":"{code}"'.encode() in refused.value.response.body
        with connect(f"{address}/live", additional_headers=headers) as socket:
            socket.send("hello")
            assert socket.recv(timeout=30) == "HELLO"
            socket.send("enough")
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=30)
        assert closed.value.rcvd.code == 3000
        with connect(f"{address}/live", additional_headers=headers) as socket:
            assert socket.response.headers["uaix-level"] == "L3"
            revoked = separately("agent", "revoke", "helper", "--config", "negotiator.toml", folder=site)
            assert revoked.status == 0
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=5)
        assert closed.value.rcvd.code == 4401
    outcomes = entries(site, "outcome")
    assert [each["decision_id"] for each in outcomes] == [each["decision_id"] for each in entries(site, "intent")]
    counted = [(each["end"], each["messages_in"], each["messages_out"], each["bytes"]) for each in outcomes]
    assert counted == [("complete", 2, 1, 5), ("aborted", 0, 0, 0)]
