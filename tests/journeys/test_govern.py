"""Governed requests, over HTTP, with the shipped policies: what reaches the site, and what the ledger says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from negotiator.canonical import sha256_hex
from negotiator.errors import IntegrityError
from negotiator.ledger import verify_chain
from negotiator.model.levels import Level
from negotiator.services.audit import Audit
from tests.support.house import PREFIX, House, house


def as_agent(api_token: str, token: str, **more: str) -> dict[str, str]:
    return {"uaix-credential": api_token, "uaix-negotiation": token} | {
        name.replace("_", "-"): value for name, value in more.items()
    }


def problem(answer: httpx.Response) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document: dict[str, Any] = answer.json()
    assert document["status"] == answer.status_code
    assert set(document) >= {
        "type", "title", "status", "detail", "instance", "code", "decision_id", "obligations", "policies", "fallback",
        "safe_default_response", "next_action",
    }  # fmt: skip
    return document


async def test_an_undeclared_read_is_decided_as_l0_and_recorded(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.get("/page?secret=1")
        assert answer.text == "from the site"
        assert answer.headers["uaix-level"] == "L0"
        assert answer.headers["cache-control"] == "private, no-store"
        [entry] = built.entries()
        assert entry["kind"] == "decision"
        assert entry["decision_id"] == answer.headers["uaix-decision"]
        assert entry["policies"] == ["ladder.read"]
        assert entry["facts"]["level"] == "L0"
        assert "secret" not in str(entry)


async def test_head_follows_get(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.head("/private")
        assert answer.status_code == 401
        assert built.calls == []


async def test_nothing_is_added_where_nothing_governs(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.get("/elsewhere", headers={"uaix-credential": "kept from the site"})
        assert answer.text == "from the site"
        assert {name for name in answer.headers if name.startswith("uaix")} == set()
        assert set(answer.headers) == {"content-length", "content-type"}
        assert built.entries() == []


async def test_without_a_declaration_a_write_is_refused_with_the_way_to_yes(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            refused = problem(await client.post("/comments", content=b"hi"))
        assert (refused["status"], refused["code"]) == (401, "declaration_required")
        [obligation] = refused["obligations"]
        assert obligation["id"] == "declaration"
        assert f"{PREFIX}/negotiations" in obligation["remedy"]
        assert built.calls == []
        assert built.entries()[0]["code"] == "declaration_required"


async def test_an_identified_agent_that_did_not_declare_is_recorded_by_name(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        [agent] = built.negotiator.administration.agents()
        async with built.client() as client:
            refused = problem(await client.post("/comments", content=b"hi", headers={"uaix-credential": api_token}))
        entry = built.entries("decision")[0]
        assert refused["code"] == entry["code"] == "declaration_required"
        assert entry["principal"] == {"type": "Agent", "id": agent.subject}
        assert entry["obligations"] == ["declaration"]
        assert set(entry["claims"]) == {"credential_id"}


async def test_an_l3_write_hears_everything_that_is_missing_at_once(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            answer = await client.post("/comments", content=b"hi", headers=as_agent(api_token, token))
            refused = problem(answer)
            bare = problem(await client.post("/comments", content=b"hi", headers={"uaix-negotiation": token}))
        assert (refused["status"], refused["code"]) == (403, "consent_required")
        assert [obligation["id"] for obligation in refused["obligations"]] == ["consent", "idempotency_key"]
        assert all(obligation["remedy"] and obligation["policies"] for obligation in refused["obligations"])
        assert refused["safe_default_response"]
        assert answer.headers["uaix-level"] == "L3"
        assert bare["code"] == "credentials_invalid", "the token alone is worth nothing"
        assert built.calls == []


async def test_an_anonymous_l2_write_is_told_to_identify_first(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            token = await built.token(client, Level.L3)
            refused = problem(await client.post("/comments", content=b"hi", headers={"uaix-negotiation": token}))
        assert (refused["status"], refused["code"]) == (403, "identity_required")
        assert [obligation["id"] for obligation in refused["obligations"]][:2] == ["identity", "consent"]


async def test_what_a_low_level_can_never_do_is_refused(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            token = await built.token(client, Level.L1)
            answer = await client.post("/comments", content=b"hi", headers={"uaix-negotiation": token})
            refused = problem(answer)
        assert (refused["status"], refused["code"], refused["obligations"]) == (403, "refused", [])
        assert refused["policies"], "even a final no names its policies"
        assert refused["next_action"].startswith("declare "), "and what to declare instead"
        assert refused["fallback"]


async def test_an_allowed_effect_leaves_intent_and_outcome(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L2, api_token)
            trace = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
            answer = await client.get("/screen", headers=as_agent(api_token, token) | trace)
        assert answer.status_code == 200
        intent, outcome = built.entries()[-2:]
        assert intent["trace_id"] == outcome["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
        assert (intent["kind"], outcome["kind"]) == ("intent", "outcome")
        assert intent["decision_id"] == outcome["decision_id"] == answer.headers["uaix-decision"]
        assert (outcome["end"], outcome["status"], outcome["bytes"]) == ("complete", 200, len("from the site"))
        [declared] = built.entries("declare")
        assert intent["claims"] == {"negotiation_id": declared["negotiation_id"]} | declared["claims"]


async def test_a_memory_write_becomes_a_pending_proposal(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent(max_level=Level.L4)
        async with built.client() as client:
            token = await built.token(client, Level.L4, api_token)
            headers = as_agent(api_token, token, uaix_correlation="c-1", idempotency_key="k-1")
            held = await client.put("/memory/tea", content=b"left", headers=headers)
            assert held.status_code == 202, held.text
            own = {"authorization": f"Bearer {api_token}"}
            proposal = (await client.get(held.headers["location"], headers=own)).json()
            again = await client.put("/memory/tea", content=b"left", headers=headers)
            other = problem(await client.put("/memory/tea", content=b"right", headers=headers))
            stranger = {"authorization": f"Bearer {built.agent('stranger')}"}
            assert (await client.get(held.headers["location"], headers=stranger)).status_code == 404
        assert (proposal["state"], proposal["body_bytes"]) == ("pending", 4)
        assert again.headers["location"] == held.headers["location"], "the same write again is the same proposal"
        assert (again.headers["idempotent-replayed"], held.headers.get("idempotent-replayed")) == ("true", None)
        assert (other["status"], other["code"]) == (422, "idempotency_mismatch")
        assert built.calls == []
        assert [entry["kind"] for entry in built.entries()][-4:] == ["proposal", "replay", "decision", "identity"]
        [kept] = built.entries("proposal")
        assert kept["decision"] == "allow"
        assert kept["claims"]["key_sha256"] == sha256_hex(b"k-1")
        assert "left" not in orjson.dumps(kept).decode()


async def test_a_memory_write_without_key_and_correlation_hears_both(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent(max_level=Level.L4)
        async with built.client() as client:
            token = await built.token(client, Level.L4, api_token)
            refused = problem(await client.put("/memory/tea", content=b"x", headers=as_agent(api_token, token)))
        assert (refused["status"], refused["code"]) == (400, "correlation_required")
        assert [obligation["id"] for obligation in refused["obligations"]] == ["correlation", "idempotency_key"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"sec-fetch-site": "same-origin"}, 200), ({"sec-fetch-site": "cross-site"}, 401), ({}, 401)],
    ids=["own page", "foreign page", "no browser"],
)
async def test_human_only_lets_people_pass_from_the_sites_own_pages(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    with house(tmp_path, person="ada") as built:
        async with built.client() as client:
            answer = await client.post("/form", content=b"x", headers=headers)
        assert answer.status_code == status
        first = built.entries()[0]
        if status == 200:
            assert (first["kind"], first["policies"]) == ("intent", ["undeclared-human"])
            assert first["principal"] == {"type": "Human", "id": "ada"}
            assert built.entries()[1]["kind"] == "outcome"
        else:
            assert first["code"] == "declaration_required"


async def test_without_the_hook_nobody_is_human(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.post("/form", content=b"x", headers={"sec-fetch-site": "same-origin"})
        assert answer.status_code == 401


async def test_pass_goes_to_the_site_and_is_recorded(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            assert (await client.post("/open", content=b"x")).status_code == 200
        assert [entry["kind"] for entry in built.entries()] == ["intent", "outcome"]
        assert built.entries()[0]["policies"] == ["undeclared-pass"]


@pytest.mark.parametrize(
    ("rule", "headers", "status"),
    [
        ("deny_agents", {"uaix-correlation": "x"}, 403),
        ("deny_agents", {}, 200),
        ("deny_unknown", {}, 403),
        ("govern", {}, 401),
        ("pass", {"uaix-correlation": "x"}, 200),
    ],
)
async def test_an_unsafe_request_that_no_rule_covers(
    tmp_path: Path, rule: str, headers: dict[str, str], status: int
) -> None:
    with house(tmp_path, unmatched={"unsafe": rule}) as built:
        async with built.client() as client:
            answer = await client.delete("/elsewhere", headers=headers)
        assert answer.status_code == status
        if status == 403:
            assert problem(answer)["code"] == "route_not_governed"
            assert built.entries()[0]["policies"] == ["unmatched"]
        assert len(built.calls) == (status == 200)


async def test_an_expired_packet_and_a_met_key(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            headers = as_agent(api_token, token, uaix_expires="2020-01-01T00:00:00Z", idempotency_key="k")
            refused = problem(await client.post("/comments", content=b"hi", headers=headers))
        assert [obligation["id"] for obligation in refused["obligations"]] == ["consent", "unexpired"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ([("idempotency-key", "")], "header_malformed"),
        ([("idempotency-key", "a"), ("idempotency-key", "b")], "header_malformed"),
        ([("idempotency-key", "a, b")], "header_malformed"),
        ([("idempotency-key", "k" * 10_000)], "header_malformed"),
        ([("uaix-expires", "tomorrow")], "header_malformed"),
        ([("x-http-method-override", "PUT")], "method_override"),
        ([("trailer", "x")], "header_malformed"),
    ],
)
async def test_malformed_headers_are_refused_before_anything_else(
    tmp_path: Path, headers: list[tuple[str, str]], code: str
) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            refused = problem(await client.post("/comments", content=b"hi", headers=headers))
        assert (refused["status"], refused["code"]) == (400, code)
        assert built.calls == []
        assert built.entries()[0]["code"] == code


async def test_a_body_over_the_routes_limit(tmp_path: Path) -> None:
    route = {"match": "POST /comments", "action": "post", "resource": "comments", "max_body_bytes": 10}
    with house(tmp_path, routes=[route]) as built:
        async with built.client() as client:
            refused = problem(await client.post("/comments", content=b"x" * 11))
    assert (refused["status"], refused["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.169.254"])
async def test_a_foreign_host_is_misdirected(tmp_path: Path, host: str) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.get("/page", headers={"host": host})
        assert (answer.status_code, answer.json()["code"]) == (421, "misdirected_host")
        assert built.calls == []


async def test_ending_a_negotiation_counts_from_the_next_request(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L2, api_token)
            headers = as_agent(api_token, token)
            assert (await client.get("/screen", headers=headers)).status_code == 200
            own = {"authorization": f"Bearer {api_token}"}
            [row] = (await client.get(f"{PREFIX}/me", headers=own)).json()["negotiations"]
            assert (
                await client.delete(f"{PREFIX}/negotiations/{row['negotiation_id']}", headers=own)
            ).status_code == 204
            refused = problem(await client.get("/screen", headers=headers))
        assert (refused["status"], refused["code"]) == (401, "negotiation_expired")


async def test_revoking_an_agent_counts_from_the_next_request(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L2, api_token)
            assert (await client.get("/screen", headers=as_agent(api_token, token))).status_code == 200
            built.negotiator.administration.revoke_agent("helper", actor="test")
            refused = problem(await client.get("/screen", headers=as_agent(api_token, token)))
        assert (refused["status"], refused["code"]) == (401, "credentials_invalid")
        assert len(built.calls) == 1


async def test_a_store_that_cannot_be_written_is_503_and_the_site_is_not_called(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        async with built.client() as client:
            built.negotiator.store.stop()
            for request in (client.get("/page"), client.post("/open", content=b"x")):
                answer = await request
                assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")
                assert int(answer.headers["retry-after"]) >= 1
        assert built.calls == []


async def test_every_answer_is_in_one_chain(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        await _visit(built)
        report = built.negotiator.audit.verify()
        lines = list(built.negotiator.audit.tail(report.entries))
        assert report.entries == len(lines) == 6, "the key, the declaration, and one or two for each request"
        assert verify_chain(lines).last_hash == report.last_hash


async def test_the_ledger_of_another_project_does_not_verify_as_ours(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        built.agent()
        foreign = Audit(store=built.negotiator.store, project="other")
        with pytest.raises(IntegrityError) as caught:
            foreign.verify()
    assert caught.value.code == "chain_broken"


async def _visit(built: House) -> None:
    async with built.client() as client:
        token = await built.token(client, Level.L2)
        headers = {"uaix-negotiation": token}
        await client.get("/page", headers=headers)
        await client.get("/screen", headers=headers)
        await client.post("/comments", content=b"x", headers=headers)


async def test_a_database_that_may_only_be_read_is_503_and_the_site_is_not_called(tmp_path: Path) -> None:
    with house(tmp_path) as before:
        async with before.client() as client:
            token = await before.token(client, Level.L2)
    read_only = f"sqlite:///file:{tmp_path / 'data' / 'negotiator.db'}?mode=ro&uri=true"
    with house(tmp_path, database=read_only) as built:
        async with built.client() as client:
            headers = {"uaix-negotiation": token}
            for answer in (
                await client.get("/page"),
                await client.get("/screen", headers=headers),
                await client.post("/open", content=b"x"),
                await client.post("/comments", content=b"x"),
            ):
                assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")
        assert built.calls == []
        assert len(built.entries()) == 2, "what was there before can still be read"
