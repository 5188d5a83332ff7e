"""Handing evidence in over HTTP, and parity records of our own pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from negotiator.canonical import sha256_hex
from negotiator.model.levels import Level
from negotiator.web.discovery.endpoints import ENDPOINTS
from tests.support.evidence import message
from tests.support.house import PLENTY, PREFIX, House, house

REPORT = message("uai.agent.final-report.v1", {"outcome": "completed", "summary": "done", "evidence": []})


@asynccontextmanager
async def helper(folder: Path, **changes: object) -> AsyncIterator[tuple[House, httpx.AsyncClient]]:
    """Give a house and a client that presents an agent's credential."""
    with house(folder, **changes) as built:
        api_token = built.agent(max_level=Level.L3)
        async with built.client() as client:
            client.headers["authorization"] = f"Bearer {api_token}"
            yield built, client


async def test_bytes_are_named_by_their_digest(tmp_path: Path):
    async with helper(tmp_path) as (built, client):
        content = b"\x00\xff bytes"
        handed = await client.post(f"{PREFIX}/evidence?kind=source_excerpt", content=content)
        assert handed.status_code == 201, handed.text
        document = handed.json()
        assert document["id"] == f"sha256:{sha256_hex(content)}"
        assert (document["kind"], document["origin"]) == ("source_excerpt", "self")
        assert handed.headers["location"] == f"{PREFIX}/evidence/{document['id']}"
        again = await client.post(f"{PREFIX}/evidence?kind=source_excerpt", content=content)
        assert again.status_code == 200
        shown = (await client.get(handed.headers["location"])).json()
        assert (shown["media_type"], shown["bytes"]) == ("application/octet-stream", len(content))
        [entry] = built.entries("evidence")
        assert (entry["evidence_id"], entry["evidence_kind"], entry["origin"]) == (
            document["id"],
            "source_excerpt",
            "self",
        )


async def test_a_final_report_says_itself_what_it_is(tmp_path: Path):
    async with helper(tmp_path) as (_, client):
        handed = await client.post(f"{PREFIX}/evidence", content=REPORT, headers={"content-type": "application/json"})
        assert (handed.status_code, handed.json()["kind"]) == (201, "final_report")


@pytest.mark.parametrize(
    ("query", "headers", "content", "status", "code"),
    [
        ("", {}, b"x", 422, "evidence_kind_invalid"),
        ("?kind=gossip", {}, b"x", 422, "evidence_kind_invalid"),
        ("?kind=provenance&kind=provenance", {}, b"x", 400, "query_malformed"),
        ("?kind=provenance", {"uaix-attestation": "a.b.c"}, b"x", 400, "header_malformed"),
        ("?kind=provenance", {"uaix-attestation": ""}, b"x", 400, "header_malformed"),
        ("?kind=provenance", {"uaix-attestation": f"{'a' * 3000}..b"}, b"x", 400, "header_malformed"),
        ("?kind=provenance", {"uaix-attestation": "a..b"}, b"x", 422, "attestation_invalid"),
        ("?kind=provenance", {"content-encoding": "gzip"}, b"x", 415, "unsupported_media_type"),
        ("?kind=provenance", {}, b"x" * 1_025, 413, "body_too_large"),
        ("?kind=consent_record", {}, b"x", 422, "evidence_never_self"),
        ("?kind=validator_output", {}, b"x", 422, "evidence_invalid"),
    ],
)
async def test_what_is_not_taken(
    tmp_path: Path, query: str, headers: dict[str, str], content: bytes, status: int, code: str
):
    async with helper(tmp_path, max_evidence_bytes=1_024) as (built, client):
        answer = await client.post(f"{PREFIX}/evidence{query}", content=content, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert built.entries("evidence") == []


async def test_a_stranger_hands_nothing_in(tmp_path: Path):
    async with helper(tmp_path) as (built, client):
        del client.headers["authorization"]
        answer = await client.post(f"{PREFIX}/evidence?kind=provenance", content=b"x")
        assert (answer.status_code, answer.json()["code"]) == (403, "identity_required")
        assert built.entries("evidence") == []


async def test_number_and_size_are_bounded_and_withdrawing_makes_room(tmp_path: Path):
    limits = PLENTY | {"evidence_per_agent": 2, "evidence_mebibytes_per_agent": 1}
    async with helper(tmp_path, budgets=limits, max_evidence_bytes=1_048_576) as (built, client):

        async def hands_in(content: bytes) -> tuple[int, str]:
            answer = await client.post(f"{PREFIX}/evidence?kind=provenance", content=content)
            return answer.status_code, answer.json().get("code", "")

        assert await hands_in(b"1") == (201, "")
        assert await hands_in(b"x" * 1_048_576) == (409, "evidence_quota_reached")
        assert await hands_in(b"2") == (201, "")
        assert await hands_in(b"3") == (409, "evidence_quota_reached")
        assert await hands_in(b"1") == (200, ""), "the same again takes no room"
        gone = await client.delete(f"{PREFIX}/evidence/sha256:{sha256_hex(b'1')}")
        assert gone.status_code == 204
        assert await hands_in(b"3") == (201, "")
        content = built.negotiator.store.read_sync(lambda reader: reader.evidence.get(f"sha256:{sha256_hex(b'1')}"))
        assert content is None, "what nobody links to is gone"


async def test_every_page_of_ours_has_a_parity_record(tmp_path: Path):
    async with helper(tmp_path) as (built, client):
        await built.token(client, Level.L2)
        pages = (await client.get(f"{PREFIX}/parity")).json()["pages"]
        documents = [each for each in ENDPOINTS if each.kind == "document"]
        assert [each["page"] for each in pages] == [
            each.full_path(PREFIX) for each in documents if "{" not in each.path
        ]
        paths = [each["page"] for each in pages]
        paths += [f"{PREFIX}/schemas/task-status", f"{PREFIX}/profiles/uai.task.status.v1"]
        paths += [f"{PREFIX}/examples/uai.client.tool-agent.v1"]
        for path in paths:
            record = (await client.get(f"{PREFIX}/parity", params={"page": path})).json()
            twin = await client.get(path, headers={"accept": "application/json"})
            page = await client.get(path, headers={"accept": "text/html", "accept-language": "en"})
            assert record["twin"]["sha256"] == sha256_hex(twin.content), path
            assert record["page"]["sha256"] == sha256_hex(page.content), path
            whole = path != f"{PREFIX}/openapi.json"
            assert (record["agrees"], record["page_is"]) == (whole, "whole" if whole else "summary"), record
            assert f'<link rel="alternate" type="application/json" href="{path}">' in page.text


@pytest.mark.parametrize(
    ("query", "status"),
    [("?page=/elsewhere", 404), ("?page=/", 404), (f"?page={PREFIX}/ladder&page={PREFIX}/keys", 400)],
)
async def test_only_pages_of_ours_have_one(tmp_path: Path, query: str, status: int):
    async with helper(tmp_path) as (_, client):
        assert (await client.get(f"{PREFIX}/parity{query}")).status_code == status
        unknown = await client.get(f"{PREFIX}/parity?page={PREFIX}/profiles/none")
        assert unknown.status_code == 404
