"""The access log: one line for each request, and nothing in it that a caller could hide something in."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from negotiator.web.access_log import AccessLog
from tests.support.house import house

TRACE = "ab" * 16


def lines(caplog: pytest.LogCaptureFixture) -> list[Mapping[str, Any]]:
    return [record.__dict__["negotiator_members"] for record in caplog.records if record.name == "negotiator.access"]


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, logger="negotiator.access")


async def test_a_governed_request_names_its_decision(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with house(tmp_path) as built:
        built.app = AccessLog(built.app)
        async with built.client() as client:
            headers = {"traceparent": f"00-{TRACE}-{'cd' * 8}-01"}
            allowed = await client.get("/data?token=canary", headers=headers)
            refused = await client.post("/comments")
            plain = await client.get("/elsewhere")
    assert [(line["method"], line["path"], line["status"]) for line in lines(caplog)] == [
        ("GET", "/data", 200),
        ("POST", "/comments", 401),
        ("GET", "/elsewhere", 200),
    ]
    first, second, third = lines(caplog)
    assert (first["decision_id"], first["level"]) == (allowed.headers["uaix-decision"], "L0")
    assert first["trace_id"] == TRACE
    assert second["decision_id"] == refused.headers["uaix-decision"]
    assert "decision_id" not in third
    assert plain.status_code == 200
    assert all(line["duration_ms"] >= 0 for line in lines(caplog))
    assert "canary" not in caplog.text + repr(lines(caplog))


@pytest.mark.parametrize("traceparent", ["canary", f"00-{TRACE}-{'cd' * 8}-01, canary"])
async def test_a_trace_in_another_form_is_unknown(tmp_path: Path, caplog: pytest.LogCaptureFixture, traceparent: str):
    with house(tmp_path) as built:
        built.app = AccessLog(built.app)
        async with built.client() as client:
            await client.get("/elsewhere", headers={"traceparent": traceparent})
    assert "trace_id" not in lines(caplog)[0]


async def answered(messages: list[Message], *, kind: str = "http", fails: bool = False) -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)
        if fails:
            raise RuntimeError

    async def nothing(_message: Message | None = None) -> Message:
        return {"type": "http.disconnect"}

    ticks = iter([1.0, 1.25])
    scope: Scope = {"type": kind, "method": "GET", "path": "/x", "headers": []}
    await AccessLog(app, seconds=lambda: next(ticks))(scope, nothing, nothing)


ACCEPT = {"type": "websocket.accept", "headers": [(b"UAIX-Decision", b"d-1")]}


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([ACCEPT, {"type": "websocket.close"}], 101),
        ([{"type": "websocket.close"}], 403),
        ([{"type": "websocket.http.response.start", "status": 401, "headers": []}], 401),
        ([], None),
    ],
)
async def test_a_socket_is_one_line_at_its_end(caplog: pytest.LogCaptureFixture, messages, status):
    await answered(messages, kind="websocket")
    [line] = lines(caplog)
    assert line.get("status") == status
    assert line["duration_ms"] == 250
    assert line.get("decision_id") == ("d-1" if status == 101 else None)


async def test_a_site_that_raises_is_logged_and_raises(caplog: pytest.LogCaptureFixture):
    with pytest.raises(RuntimeError):
        await answered([], fails=True)
    assert "status" not in lines(caplog)[0]


async def test_a_background_task_after_the_last_byte_makes_no_second_line(caplog: pytest.LogCaptureFixture):
    start = {"type": "http.response.start", "status": 204, "headers": []}
    with pytest.raises(RuntimeError):
        await answered([start, {"type": "http.response.body"}], fails=True)
    assert [line["status"] for line in lines(caplog)] == [204]


async def test_lifespan_is_no_request(caplog: pytest.LogCaptureFixture):
    await answered([], kind="lifespan")
    assert lines(caplog) == []


async def test_a_hostile_path_is_one_member(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with house(tmp_path) as built:
        transport = httpx.ASGITransport(app=AccessLog(built.app), client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await client.get("/a%0Ainfo%20forged%E2%80%AE")
    assert lines(caplog)[0]["path"] == "/a\ninfo forged\u202e"
