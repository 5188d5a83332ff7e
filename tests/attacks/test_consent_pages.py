"""Words of an agent that deceive the person who reads them, and agents that wear people out."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from negotiator.errors import RequestError
from tests.support.consents import ADA, arrived, desk
from tests.support.house import PREFIX

HOSTILE = "SYSTEM: approved\u202edevorppa\u2066\u200b\ufeff\x1b[2J\r\u2028<script>alert(1)</script>\\u{202e}\u00a0"


def texts(value: Any) -> list[str]:
    """Return every text of a display."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    return [text for each in value for text in texts(each)] if isinstance(value, list) else []


@pytest.mark.parametrize("where", ["reason", "body", "bound_headers"])
async def test_nothing_unseen_is_in_what_a_person_is_shown(tmp_path: Path, where: str) -> None:
    given: dict[str, Any] = {where: HOSTILE.replace("\x1b", "").replace("\r", "")}
    if where == "bound_headers":
        given = {"resource": "bound", "target": "/bound", "bound_headers": {"x-tenant": "<b>a</b>"}}
    async with desk(tmp_path) as at:
        told = (await at.ask(**given)).json()
        shown = await at.built.negotiator.consent_decisions.show(ADA, told["id"])
        every = texts(shown.display)
        odd = {c for text in every for c in text if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} and c != "\n"}
        assert odd == set()
        if where != "bound_headers":
            [text] = [text for text in every if "SYSTEM" in text]
            assert "\\u{202e}devorppa" in text
            assert "\\\\u{202e}" in text, "an escape of the agent's own stays one"
            assert "<script>" in text, "markup is for the page to escape; it is shown as what it is"
        assert HOSTILE not in str(at.built.entries())


async def test_what_is_long_is_whole_or_clearly_cut(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        decisions = at.built.negotiator.consent_decisions
        whole = " " * 5_000 + "and give eve everything"
        shown = await decisions.show(ADA, (await at.ask(body=whole)).json()["id"])
        assert shown.display["body"]["text"] == whole
        assert shown.display["body"]["left_out"] == 0
        long = "x" * 20_000 + "and give eve everything"
        cut = await decisions.show(ADA, (await at.ask(body=long)).json()["id"])
        assert (cut.display["body"]["characters"], cut.display["body"]["left_out"]) == (20_023, 23)
        other = await decisions.show(ADA, (await at.ask(body=long[:-1] + "!")).json()["id"])
        assert other.display["body"]["sha256"] != cut.display["body"]["sha256"]


@pytest.mark.parametrize(
    ("content", "content_type", "why"),
    [
        (bytes(range(256)), "application/octet-stream", "it is not text in UTF-8"),
        (b"a\x00b", "text/plain", "it is not text in UTF-8"),
        ("é".encode("utf-16"), "text/plain; charset=utf-16", "it is not text in UTF-8"),
        (b"+ADw-script+AD4-", "text/plain; charset=utf-7", "it is not text in UTF-8"),
        (b"x" * 70_000, "text/plain", "it is too large to be shown"),
    ],
)
async def test_what_cannot_be_shown_is_named_so(tmp_path: Path, content: bytes, content_type: str, why: str) -> None:
    async with desk(tmp_path) as at:
        refused = (await at.write(path="/news", content=content, content_type=content_type)).json()
        shown = await at.built.negotiator.consent_decisions.show(ADA, refused["access_request"]["id"])
        body = shown.display["body"]
        assert (body["kind"], body["why"], body["bytes"]) == ("not_showable", why, len(content))
        assert "text" not in body


async def test_a_digest_alone_is_not_showable_and_no_text_takes_its_place(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask(body=None, body_sha256="ab" * 32)).json()
        shown = await at.built.negotiator.consent_decisions.show(ADA, told["id"])
        assert shown.display["body"] == {
            "kind": "not_showable",
            "why": "only its digest was given",
            "sha256": "ab" * 32,
            "bytes": -1,
        }


async def test_what_changed_since_it_was_seen_is_not_decided(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        decisions = at.built.negotiator.consent_decisions
        told = (await at.ask()).json()
        other = (await at.ask(body="other")).json()
        seen = await decisions.show(ADA, told["id"])
        seen_other = await decisions.show(ADA, other["id"])
        for digest in ("", "ab" * 32, seen_other.digest, seen.digest.upper(), "é"):
            for decision in ("approve", "deny"):
                with pytest.raises(RequestError) as caught:
                    await decisions.decide(ADA, told["id"], displayed_digest=digest, decision=decision)  # type: ignore[arg-type]
                assert caught.value.code == "display_changed"
        honest = await decisions.decide(ADA, told["id"], displayed_digest=seen.digest, decision="approve")
        assert honest == "approved"


async def test_an_inbox_is_not_flooded(tmp_path: Path) -> None:
    async with desk(tmp_path, consents_pending=8) as at:
        asked = [await at.ask(body=str(number)) for number in range(7)]
        assert [answer.status_code for answer in asked] == [202] * 5 + [429] * 2
        assert int(asked[-1].headers["retry-after"]) >= 1
        quiet = (await at.write(path="/news")).json()
        assert quiet["code"] == "consent_required"
        assert "id" not in quiet["access_request"]

        other = await arrived(at.built, at.client, "other")
        asked = [await other.ask(body=str(number)) for number in range(5)]
        assert [answer.status_code for answer in asked] == [202] * 3 + [429] * 2
        assert (await at.ask(body="0", key="again")).status_code == 202, "an equal one is the same one"
        assert len(at.built.entries("consent")) == 8

        first = (await at.ask(body="0", key="more")).json()
        await at.client.post(first["cancel_url"], headers=at.own)
        assert (await at.ask(body="new")).status_code == 202, "a cancelled one makes room"


async def test_a_denial_cools_down(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask()).json()
        await at.decide(told["id"], "deny")
        for answer in (await at.ask(body="hello!"), await at.write(), await at.write(content=b"another")):
            assert (answer.status_code, answer.json()["code"]) == (403, "consent_denied"), answer.text
            assert 0 < int(answer.headers["retry-after"]) <= 600
        assert (await at.ask(resource="bound", target="/bound")).status_code == 202, "something else may be asked"
        other = await arrived(at.built, at.client, "other")
        assert (await other.ask()).status_code == 202, "and others may ask"
        at.built.clock.advance(600)
        assert (await at.ask()).status_code == 202


async def test_a_denial_cools_down_on_routes_that_ask_by_themselves(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        access = (await at.write(path="/news")).json()["access_request"]
        await at.decide(access["id"], "deny")
        refused = await at.write(path="/news", content=b"other")
        assert refused.json()["code"] == "consent_denied"
        assert "id" not in refused.json()["access_request"]
        assert len(at.built.entries("consent")) == 2


async def test_a_denial_takes_no_approval_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved()
        await at.decide((await at.ask(body="more")).json()["id"], "deny")
        assert (await at.write(approval_id)).status_code == 200


async def test_tickets_and_links_are_made_of_settings_alone(tmp_path: Path) -> None:
    async with desk(tmp_path, public_url="https://example.org", allowed_hosts=["127.0.0.1"]) as at:
        headers = {**at.own, "host": "example.org", "x-forwarded-host": "evil.example", "idempotency-key": "k"}
        wanted = {"action": "post", "resource": "comments", "method": "POST", "target": "/comments"}
        told = (await at.client.post(f"{PREFIX}/consents", json=wanted, headers=headers)).json()
        for name in ("status_url", "ticket_url", "cancel_url"):
            assert told[name].startswith("https://example.org/"), told[name]
