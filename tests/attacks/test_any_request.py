"""Whatever is sent: no fault of ours is answered, and no governed handler runs without its entry.

The site below answers every path and method, and notes what reached it; the ledger says what was decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.house import PREFIX, House, house

METHODS = st.sampled_from(
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "BREW"],
)
PIECES = st.sampled_from(
    [
        *("/", "//", "comments", "COMMENTS", "page", "memory", "private", "me", "validate", "negotiations", PREFIX),
        *("%2f", "%2F", "%63omments", "..", ".", ";a=b", "%", "%zz", "%25", "%00", "?", "?a=%", "é", "\\", "x" * 300),
    ]
)
NAMES = st.sampled_from(
    [
        *("uaix-negotiation", "uaix-credential", "uaix-correlation", "uaix-expires", "uaix-consent", "uaix-evidence"),
        *("authorization", "idempotency-key", "traceparent", "accept", "accept-language", "content-type", "range"),
        *("content-length", "transfer-encoding", "trailer", "if-none-match", "x-http-method-override", "origin"),
        "sec-fetch-site",
    ]
)
VALUES = st.binary(max_size=40) | st.sampled_from([b"*/*", b"application/json", b"0", b"k"])
HEADERS = st.lists(st.tuples(NAMES, VALUES))
BODIES = st.binary(max_size=200) | st.sampled_from([b"", b"{}", b"[]", b"null", b'{"profile":1}', b"_method=PUT"])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house"), public_url="", unmatched={"unsafe": "pass"}) as made:
        yield made


async def send(built: House, scope: dict[str, Any], body: bytes) -> list[dict[str, Any]]:
    """Drive the application as a server would, and return what it sent."""
    sent: list[dict[str, Any]] = []
    inbox = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if inbox:
            return inbox.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def record(message: Any) -> None:
        sent.append(dict(message))

    await built.app(scope, receive, record)
    return sent


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(method=METHODS, pieces=st.lists(PIECES, max_size=5), headers=HEADERS, body=BODIES)
def test_any_request_is_answered_and_nothing_governed_runs_undecided(
    built: House, method: str, pieces: list[str], headers: list[tuple[str, bytes]], body: bytes
) -> None:
    target = "/" + "".join(pieces)
    raw, _, query = target.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw, errors="replace"),
        "raw_path": raw.encode("utf-8"),
        "query_string": query.encode("utf-8"),
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), *((name.encode(), value) for name, value in headers)],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
        "extensions": {},
    }
    built.calls.clear()
    before = built.negotiator.store.read_sync(lambda reader: reader.ledger.size())
    sent = asyncio.run(send(built, scope, body))
    assert sent[0]["type"] == "http.response.start"
    assert sent[0]["status"] < 500, sent
    added = built.negotiator.store.read_sync(lambda reader: reader.ledger.size()) - before
    governed = {"/comments", "/page", "/data", "/private", "/screen", "/form", "/open", "/tool", "/task"}
    for call in built.calls:
        called, _, path = call.partition(" ")
        if path.rstrip("/").lower() in governed and called in {"GET", "HEAD", "POST"} and is_ruled(built, called, path):
            assert added > 0, f"{call} ran without an entry"


def is_ruled(built: House, method: str, path: str) -> bool:
    """Whether a rule is written for this very method and path, in whatever case and with whatever slash."""
    reading = {"HEAD": {"GET", "HEAD"}}.get(method, {method})
    return any(
        rule.path == path.rstrip("/").lower() and (not rule.methods or rule.methods & reading)
        for rule in built.negotiator.routes
    )
