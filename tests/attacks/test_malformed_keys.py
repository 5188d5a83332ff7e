"""An `Idempotency-Key` that is none: 400, nothing of it is shown again, and nothing is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.asgi import Server, http_scope
from tests.support.house import house

KEY = b"idempotency-key"

MALFORMED: tuple[tuple[bytes, ...], ...] = (
    (b"",),
    (b"   ",),
    (b'""',),
    (b"k" * 10_000,),
    (b'"' + b"k" * 10_000 + b'"',),
    (b"one-marked", b"two-marked"),
    (b"same-marked", b"same-marked"),
    (b"one-marked, two-marked",),
    (b'"one-marked", "two-marked"',),
    (b"marked\r\nset-cookie: a=b",),
    (b"marked\x00",),
    (b"marked\x1b[2J",),
    (b"marked\x7f",),
    (b'"marked\x01"',),
    (b'"marked',),
    (b'"marked";p=1',),
    (b"marked key",),
    (b"<script>marked</script>",),
    ("märked".encode(),),
    (b"marked\xff",),
)


@pytest.mark.parametrize("lines", MALFORMED, ids=lambda lines: repr(lines)[:40])
async def test_a_malformed_key_is_400_and_is_not_echoed(tmp_path: Path, lines: tuple[bytes, ...]):
    with house(tmp_path) as built:
        server = Server()
        scope = http_scope("POST", "/open", *((KEY, line) for line in lines))
        await built.app(scope, server.receive, server.send)
        assert (server.status, server.json["code"]) == (400, "header_malformed")
        shown = server.body + b"".join(name + value for name, value in server.sent[0]["headers"])
        recorded = b"".join(built.negotiator.audit.tail(100))
        for secret in (b"marked", b"kkkk", b"<script", "märked".encode()):
            assert secret not in shown
            assert secret not in recorded
        assert built.calls == []
        assert [entry["code"] for entry in built.entries("decision")] == ["header_malformed"]
