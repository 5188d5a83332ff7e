"""Declaring, over HTTP, with the shipped policies: what is answered, and what the ledger says afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from negotiator.messages import decode_message, encode_message
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog, load_examples
from tests.support.house import PLENTY, PREFIX, house

KEYLESS = "application/vnd.uaix.keyless+json"
NEGOTIATIONS = f"{PREFIX}/negotiations"


def example(level: Level) -> dict[str, Any]:
    return dict(load_catalog().examples[PROFILE_OF_LEVEL[level]])


def bearer(api_token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {api_token}"}


@pytest.mark.parametrize("encoding", ["keyed", "minified", "keyless"])
@pytest.mark.parametrize("level", list(Level))
async def test_complete_messages_of_each_level_in_each_encoding(tmp_path: Path, level: Level, encoding: Any) -> None:
    catalog = load_catalog()
    message = decode_message(orjson.dumps(example(level)), catalog)
    content = encode_message(message, encoding, catalog)
    with house(tmp_path) as built:
        api_token = built.agent(max_level=Level.L6)
        async with built.client() as client:
            headers = bearer(api_token) | {"content-type": KEYLESS if encoding == "keyless" else "application/json"}
            answer = await client.post(NEGOTIATIONS, content=content, headers=headers)
        assert answer.status_code == 201, answer.text
        body = answer.json()["body"]
        assert (body["declared_level"], body["effective_level"]) == (level.name, level.name)
        assert answer.headers["location"].endswith(f"/negotiations/{body['negotiation_id']}")
        [entry] = built.entries("declare")
        assert entry["message_digest"] == message.digest
        assert entry["index"] == body["ledger"]["index"]


@pytest.mark.parametrize("name", ["smallest-safe-packet", "smallest-safe-packet-keyless"])
async def test_the_smallest_safe_packet_and_its_keyless_twin(tmp_path: Path, name: str) -> None:
    document = load_examples("valid")[name]["message"]
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post(NEGOTIATIONS, json=document)
    assert answer.status_code == 201, answer.text
    body = answer.json()["body"]
    assert body["effective_level"] == "L1"
    assert body["actions"]["read_json"]["status"] == "allowed"
    assert body["actions"]["promote_memory"]["policies"] == ["human-only"]


@pytest.mark.parametrize("name", ["boundary-en", "boundary-es", "boundary-zh"])
async def test_the_boundary_statement_passes_in_three_languages(tmp_path: Path, name: str) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post(NEGOTIATIONS, json=load_examples("valid")[name]["message"])
    assert answer.status_code == 201, answer.text


def failing() -> list[Any]:
    return [pytest.param(document, id=name) for name, document in load_examples("failing").items()]


@pytest.mark.parametrize("document", failing())
async def test_each_failing_example_is_refused_with_its_codes(tmp_path: Path, document: dict[str, Any]) -> None:
    content = (
        document["raw"].encode("utf-8", "surrogateescape") * document.get("times", 1)
        if "raw" in document
        else orjson.dumps(document["message"])
    )
    params = {"strict": "1"} if document["strict"] else {}
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post(
                NEGOTIATIONS, content=content, params=params, headers={"content-type": "application/json"}
            )
        problem = answer.json()
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        codes = {problem["code"]} | {
            finding["code"] for finding in problem.get("findings", []) if finding["severity"] == "error"
        }
        assert set(document["expect"]) <= codes
        [entry] = built.entries("declare")
        assert entry["decision"] == "deny"
        assert entry["decision_id"] == problem["decision_id"]
        if answer.status_code == 422 and problem["code"] == "declaration_invalid":
            assert all(finding["message"] for finding in problem["findings"])


@pytest.mark.parametrize("document", failing())
async def test_validate_says_the_same_and_stores_nothing(tmp_path: Path, document: dict[str, Any]) -> None:
    content = (
        document["raw"].encode() * document.get("times", 1) if "raw" in document else orjson.dumps(document["message"])
    )
    params = {"strict": "1"} if document["strict"] else {}
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post(
                f"{PREFIX}/validate", content=content, params=params, headers={"content-type": "application/json"}
            )
        if document["expect"] == ["body_too_large"]:
            assert answer.status_code == 413
        else:
            assert answer.status_code == 200
            assert answer.json()["valid"] is False
            assert set(document["expect"]) <= {finding["code"] for finding in answer.json()["findings"]}
        assert built.entries() == []


async def test_an_anonymous_tool_agent_is_capped_and_told_why(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            body = (await client.post(NEGOTIATIONS, json=example(Level.L3))).json()["body"]
    assert (body["declared_level"], body["effective_level"]) == ("L3", "L2")
    assert [obligation["id"] for obligation in body["level_obligations"]] == ["identity"]
    [capped] = [finding for finding in body["findings"] if finding["code"] == "level_capped"]
    assert (capped["pointer"], capped["severity"]) == ("/body/client_level", "info")
    assert "credential" in capped["remedy"]
    post = body["actions"]["post"]
    assert post["status"] == "conditional"
    assert post["obligations"][0]["id"] == "identity"


async def test_an_operators_cap_is_told_apart(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent(max_level=Level.L1)
        async with built.client() as client:
            answer = await client.post(NEGOTIATIONS, json=example(Level.L3), headers=bearer(api_token))
    body = answer.json()["body"]
    assert body["effective_level"] == "L1"
    assert body["level_obligations"] == []
    assert "max_level" in next(f for f in body["findings"] if f["code"] == "level_capped")["remedy"]


async def test_an_identical_declaration_gets_the_stored_answer(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            first = await client.post(NEGOTIATIONS, json=example(Level.L3), headers=bearer(api_token))
            again = await client.post(NEGOTIATIONS, json=example(Level.L3), headers=bearer(api_token))
            other = await client.post(NEGOTIATIONS, json=example(Level.L2), headers=bearer(api_token))
        assert (first.status_code, again.status_code, other.status_code) == (201, 200, 201)
        assert again.json() == first.json()
        assert other.json()["body"]["negotiation_id"] != first.json()["body"]["negotiation_id"]
        assert len(built.entries("declare")) == 2


async def test_anonymous_callers_never_share_a_negotiation(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            bodies = [(await client.post(NEGOTIATIONS, json=example(Level.L1))).json()["body"] for _ in range(2)]
    subjects = {body["identity"]["subject"] for body in bodies}
    assert subjects == {f"anon:{body['negotiation_id']}" for body in bodies}


async def test_renewing_keeps_the_subject_and_ends_the_old_one(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            old = (await client.post(NEGOTIATIONS, json=example(Level.L1))).json()["body"]
            token = {"uaix-negotiation": old["token"]}
            renewed = await client.post(NEGOTIATIONS, json=example(Level.L1), headers=token)
            new = renewed.json()["body"]
            assert renewed.status_code == 201
            assert new["identity"]["subject"] == old["identity"]["subject"]
            assert new["negotiation_id"] != old["negotiation_id"]
            refused = await client.get(f"{PREFIX}/me", headers=token)
            assert (refused.status_code, refused.json()["code"]) == (401, "negotiation_expired")
            me = await client.get(f"{PREFIX}/me", headers={"uaix-negotiation": new["token"]})
            assert [row["negotiation_id"] for row in me.json()["negotiations"]] == [new["negotiation_id"]]


async def test_get_end_and_what_belongs_to_others(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        mine, theirs = built.agent("mine"), built.agent("theirs")
        async with built.client() as client:
            body = (await client.post(NEGOTIATIONS, json=example(Level.L3), headers=bearer(mine))).json()["body"]
            url = f"{NEGOTIATIONS}/{body['negotiation_id']}"
            shown = await client.get(url, headers=bearer(mine))
            assert shown.status_code == 200
            assert "token" not in shown.json()["body"]
            unknown = await client.get(f"{NEGOTIATIONS}/none", headers=bearer(theirs))
            foreign = await client.get(url, headers=bearer(theirs))
            assert (unknown.status_code, foreign.status_code) == (404, 404)
            assert unknown.json()["code"] == foreign.json()["code"] == "not_found"
            assert (await client.delete(url, headers=bearer(theirs))).status_code == 404
            assert (await client.delete(url, headers=bearer(mine))).status_code == 204
            assert (await client.get(url, headers=bearer(mine))).status_code == 404


def tampered(token: str) -> list[str]:
    head, payload, signature = token.split(".")
    return [
        f"{head}.{payload}.{'A' * len(signature)}",
        f"{head}.{payload[:-2]}AA.{signature}",
        f"{head}.{payload}.",
        f"eyJhbGciOiJub25lIn0.{payload}.",
        "a.b.c",
    ]


async def test_forged_foreign_expired_and_ended_tokens(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        mine, theirs = built.agent("mine"), built.agent("theirs")
        async with built.client() as client:
            token = await built.token(client, Level.L3, mine)

            async def code(headers: dict[str, str]) -> str:
                answer = await client.get("/page", headers=headers)
                assert answer.status_code == 401, answer.text
                assert answer.headers["www-authenticate"].startswith("UAIX ")
                problem: dict[str, str] = answer.json()
                return problem["code"]

            for forged in tampered(token):
                assert await code({"uaix-negotiation": forged, "uaix-credential": mine}) == "credentials_invalid"
            assert await code({"uaix-negotiation": token, "uaix-credential": theirs}) == "credentials_invalid"
            assert await code({"uaix-negotiation": token}) == "credentials_invalid"
            assert (
                await code({"uaix-credential": mine[:-1] + ("0" if mine[-1] != "0" else "1")}) == "credentials_invalid"
            )
            built.clock.advance(3600)
            assert await code({"uaix-negotiation": token, "uaix-credential": mine}) == "negotiation_expired"
        assert built.calls == []
        assert all(entry["decision"] == "deny" for entry in built.entries("decision"))


async def test_a_token_of_another_site_is_foreign(tmp_path: Path) -> None:
    with house(tmp_path / "a", project="one") as one:
        async with one.client() as client:
            token = await one.token(client, Level.L1)
    with house(tmp_path / "b", project="two") as two:
        async with two.client() as client:
            answer = await client.get("/page", headers={"uaix-negotiation": token})
    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")


@pytest.mark.parametrize(
    ("content", "content_type", "status", "code"),
    [
        (b"", "application/json", 400, "body_malformed"),
        (b"{}", "text/plain", 415, "unsupported_media_type"),
        (b" " * 10_000_000, "application/json", 413, "body_too_large"),
        (b"[" * 10_000, "application/json", 400, "json_too_deep"),
        (b'{"profile": NaN}', "application/json", 400, "body_malformed"),
    ],
    ids=["empty", "wrong type", "10 MB", "10,000 deep", "NaN"],
)
async def test_bytes_that_are_no_message(
    tmp_path: Path, content: bytes, content_type: str, status: int, code: str
) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post(NEGOTIATIONS, content=content, headers={"content-type": content_type})
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_over_budget(tmp_path: Path) -> None:
    with house(tmp_path, budgets=PLENTY | {"declarations_per_source_and_minute": 2}) as built:
        async with built.client() as client:
            answers = [await client.post(NEGOTIATIONS, json=example(Level.L1)) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [201, 201, 429]
        assert answers[2].json()["code"] == "over_budget"
        assert int(answers[2].headers["retry-after"]) >= 1
        assert len(built.entries("declare")) == 2


async def test_no_credential_is_ever_silently_anonymous(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        built.negotiator.administration.revoke_agent("helper", actor="test")
        async with built.client() as client:
            for bad in ("nonsense", api_token):
                answer = await client.post(NEGOTIATIONS, json=example(Level.L1), headers=bearer(bad))
                assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")


async def test_a_revoked_agent_is_not_given_its_stored_negotiation_again(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            assert (
                await client.post(NEGOTIATIONS, json=example(Level.L1), headers=bearer(api_token))
            ).status_code == 201
            built.negotiator.administration.revoke_agent("helper", actor="test")
            answer = await client.post(NEGOTIATIONS, json=example(Level.L1), headers=bearer(api_token))
        assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")
        assert "token" not in answer.text


async def test_a_bad_credential_is_refused_before_the_body_is_looked_at(tmp_path: Path) -> None:
    headers = bearer("nonsense") | {"content-type": "application/json"}
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post(NEGOTIATIONS, content=b"{", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")
        [entry] = built.entries("declare")
        assert "principal" not in entry, "nobody knows who it was"


@pytest.mark.parametrize("content", [b"{", None], ids=["malformed", "accepted"])
async def test_an_entry_tells_who_declared_on_which_credential_and_in_which_trace(
    tmp_path: Path, content: bytes | None
) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    ties = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "uaix-correlation": "errand-7"}
    body = orjson.dumps(example(Level.L1)) if content is None else content
    with house(tmp_path) as built:
        headers = bearer(built.agent()) | ties | {"content-type": "application/json"}
        [agent] = built.negotiator.administration.agents()
        async with built.client() as client:
            await client.post(NEGOTIATIONS, content=body, headers=headers)
        [entry] = built.entries("declare")
    assert entry["principal"] == {"type": "Agent", "id": agent.subject}
    assert (entry["trace_id"], entry["correlation_id"]) == (trace, "errand-7")
    assert set(entry["claims"]) == {"credential_id"}


async def test_the_entry_of_a_renewal_names_the_negotiation_that_it_ends(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            token = await built.token(client, Level.L1)
            renewed = await client.post(NEGOTIATIONS, json=example(Level.L1), headers={"uaix-negotiation": token})
        assert renewed.status_code == 201
        first, second = built.entries("declare")
    assert second["claims"] == {"negotiation_id": first["negotiation_id"]}
    assert second["negotiation_id"] == renewed.json()["body"]["negotiation_id"]


async def test_the_no_op_form_has_exactly_two_members(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer: httpx.Response = await client.post(
                "/comments", content=b"x", headers={"accept": "application/vnd.uaix.no-op+json"}
            )
    assert answer.status_code == 401
    assert set(answer.json()) == {"code", "url"}


async def test_each_finding_points_at_its_own_place(tmp_path: Path) -> None:
    document = example(Level.L1)
    body = dict(document["body"]) | {"can_post_data": True, "can_teleport": True, "known_limits": ["password=hunter2"]}
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post(NEGOTIATIONS, json=document | {"body": body})
    places = {(finding["code"], finding["pointer"]) for finding in answer.json()["findings"]}
    assert places >= {
        ("capability_level_overclaim", "/body/can_post_data"),
        ("capability_level_overclaim", "/body/can_teleport"),
        ("unsafe_credential", "/body/known_limits/0"),
    }
    assert "hunter2" not in answer.text


async def test_identical_declarations_at_once_are_one_negotiation(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        headers = bearer(built.agent())
        async with built.client() as client:
            answers = await asyncio.gather(
                *(client.post(NEGOTIATIONS, json=example(Level.L3), headers=headers) for _ in range(12))
            )
        assert sorted(answer.status_code for answer in answers) == [200] * 11 + [201]
        assert len({answer.json()["body"]["token"] for answer in answers}) == 1
        assert len(built.entries("declare")) == 1


async def test_an_unidentified_caller_is_told_only_of_public_policies(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        public = built.negotiator.engine.bundle.public_ids | {"human-only"}
        api_token = built.agent()
        async with built.client() as client:
            anonymous = (await client.post(NEGOTIATIONS, json=example(Level.L3))).json()["body"]
            known = (await client.post(NEGOTIATIONS, json=example(Level.L3), headers=bearer(api_token))).json()["body"]

    def named(body: dict[str, Any]) -> set[str]:
        cells = [*body["actions"].values(), *body["level_obligations"]]
        cells += [obligation for cell in body["actions"].values() for obligation in cell["obligations"]]
        return {policy for cell in cells for policy in cell["policies"]}

    assert named(anonymous) <= public
    assert not named(known) <= public, "an identified agent sees every policy that fired"
