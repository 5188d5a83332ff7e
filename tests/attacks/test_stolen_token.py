"""A negotiation token is of no use without the credential that it was made with, and none after its key was retired."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from negotiator.model.levels import Level
from tests.support.house import House, house


def altered_header(token: str, **changes: object) -> str:
    head, _, rest = token.partition(".")
    members = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    content = json.dumps(members | changes, separators=(",", ":")).encode()
    return f"{base64.urlsafe_b64encode(content).rstrip(b'=').decode()}.{rest}"


def altered_signature(token: str) -> str:
    return f"{token[:-8]}{'AAAAAAAA' if token[-8:] != 'AAAAAAAA' else 'BBBBBBBB'}"


THIEVES: dict[str, Callable[[str, str, str], dict[str, str]]] = {
    "without its credential": lambda token, _own, _others: {"uaix-negotiation": token},
    "with another agent's": lambda token, _own, others: {"uaix-negotiation": token, "uaix-credential": others},
    "with a credential nobody made": lambda token, own, _others: {
        "uaix-negotiation": token,
        "uaix-credential": own[:-1] + ("0" if own[-1] != "0" else "1"),
    },
    "for another key": lambda token, own, _others: {
        "uaix-negotiation": altered_header(token, kid="A" * 43),
        "uaix-credential": own,
    },
    "with another algorithm": lambda token, own, _others: {
        "uaix-negotiation": altered_header(token, alg="none"),
        "uaix-credential": own,
    },
    "with another signature": lambda token, own, _others: {
        "uaix-negotiation": altered_signature(token),
        "uaix-credential": own,
    },
}


async def asked(client: httpx.AsyncClient, headers: dict[str, str]) -> httpx.Response:
    return await client.get("/screen", headers=headers)


async def test_the_holder_is_served(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            answer = await asked(client, {"uaix-negotiation": token, "uaix-credential": api_token})
        assert answer.status_code == 200
        assert len(built.calls) == 1


@pytest.mark.parametrize("thief", THIEVES)
async def test_a_thief_is_refused_and_nothing_happens(tmp_path: Path, database_url: str, thief: str):
    with house(tmp_path, database=database_url) as built:
        api_token, others = built.agent(), built.agent("other")
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            before = len(built.entries())
            answer = await asked(client, THIEVES[thief](token, api_token, others))
        refused_without_a_trace_of_the_token(built, answer, before, token)


def refused_without_a_trace_of_the_token(built: House, answer: httpx.Response, before: int, token: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")
    assert answer.headers["www-authenticate"].startswith("UAIX")
    assert token not in answer.text
    assert built.calls == []
    [recorded] = built.entries()[before:]
    assert (recorded["kind"], recorded["decision"], recorded["code"]) == ("decision", "deny", "credentials_invalid")
    assert "principal" not in recorded
    assert token not in json.dumps(recorded)


async def test_what_a_retired_key_has_signed_opens_nothing(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        api_token = built.agent()
        keys = built.negotiator.key_administration
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            own = {"uaix-negotiation": token, "uaix-credential": api_token}
            [first] = keys.listed()
            keys.rotate("token", actor="ana")
            assert (await asked(client, own)).status_code == 200, "a rotated key's tokens still hold"
            keys.retire(first.key_id, reason="the disk was stolen", actor="ana")
            before = len(built.entries())
            answer = await asked(client, own)
            assert (answer.status_code, answer.json()["code"]) == (401, "negotiation_expired")
            built.clock.advance(5)
            answer = await asked(client, own)
            assert answer.status_code == 401
            assert len(built.calls) == 1
            again = await built.token(client, Level.L3, api_token)
            assert (await asked(client, own | {"uaix-negotiation": again})).status_code == 200
        changed = [entry for entry in built.entries("admin") if entry["code"].startswith("key_")]
        assert [entry["code"] for entry in changed] == ["key_added", "key_rotated", "key_retired"]
        assert changed[2]["reason"] == "the disk was stolen"
        assert changed[1]["in_place_of"] == [first.key_id]
        assert {entry.get("code") for entry in built.entries()[before:]} >= {"negotiation_expired"}
