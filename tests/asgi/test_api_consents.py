"""The routes of consents, in front of a scripted service."""

from __future__ import annotations

import pytest

from tests.support.web_api import APPROVAL_ID, CONSENT_ID, PREFIX, ScriptedConsents, ScriptedSite, client_of

OWN = {"uaix-credential": "uaixt_x", "idempotency-key": "k"}


@pytest.fixture(autouse=True)
def asked():
    ScriptedConsents.asked.clear()
    return ScriptedConsents.asked


async def test_a_request_is_answered_with_where_it_stands(asked):
    async with client_of(ScriptedSite(public_url="https://example.org")) as client:
        answer = await client.post(f"{PREFIX}/consents", json={"a": 1}, headers={**OWN, "host": "Example.org:443"})
        again = await client.post(f"{PREFIX}/consents", json={"again": 1}, headers=OWN)
    own = f"https://example.org{PREFIX}/consents/{CONSENT_ID}"
    assert answer.status_code == 202
    assert answer.headers["location"] == answer.json()["status_url"] == own
    assert answer.json()["cancel_url"] == f"{own}/cancel"
    assert answer.json()["ticket_url"]
    assert answer.headers["cache-control"] == "no-store"
    assert "idempotent-replayed" not in answer.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert asked[0]["authority"] == "example.org:443"


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("", 0), ("wait=5", 5), ("WAIT=5", 5), ("wait=31", 30), ("respond-async, wait=7", 7), ("wait=x", 0),
        ("wait=-1", 0), ("wait=9999999", 0), ("wait=5; x", 0),
    ],
)  # fmt: skip
async def test_a_wait_is_a_preference(asked, prefer, seconds):
    async with client_of(ScriptedSite()) as client:
        headers = {**OWN, **({"prefer": prefer} if prefer else {})}
        answer = await client.get(f"{PREFIX}/consents/{CONSENT_ID}", headers=headers)
    assert answer.status_code == 200
    assert asked[-1] == {"wait_seconds": seconds}
    assert answer.headers.get("preference-applied") == (f"wait={seconds}" if seconds else None)


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {"content-type": "application/json", "content-encoding": "gzip"}, 415),
        (b" " * 1001, {"content-type": "application/json"}, 413),
        (b"{}", {"content-type": "application/json", "accept": "text/html"}, 406),
    ],
)
async def test_what_cannot_be_read_is_not_handed_on(asked, content, headers, status):
    async with client_of(ScriptedSite()) as client:
        answer = await client.post(f"{PREFIX}/consents", content=content, headers={**OWN, **headers})
    assert answer.status_code == status
    assert asked == []


async def test_cancelling_giving_back_and_receipts():
    async with client_of(ScriptedSite()) as client:
        cancelled = await client.post(f"{PREFIX}/consents/{CONSENT_ID}/cancel", headers=OWN)
        gone = await client.delete(f"{PREFIX}/approvals/{APPROVAL_ID}", headers=OWN)
        receipt = await client.get(f"{PREFIX}/approvals/{APPROVAL_ID}/receipt", headers=OWN)
        foreign = await client.get(f"{PREFIX}/approvals/{APPROVAL_ID}/receipt")
        got = await client.get(f"{PREFIX}/consents/{CONSENT_ID}/cancel", headers=OWN)
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert (gone.status_code, gone.content) == (204, b"")
    assert receipt.json().keys() == {"receipt", "signature"}
    assert foreign.status_code == 404
    assert got.status_code == 405, "a link that is followed changes nothing"
