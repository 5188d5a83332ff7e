"""Headers that only we, or a proxy of ours, may write: from outside they are dropped, refused or without meaning."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from negotiator.model.levels import Level
from tests.support.house import PREFIX, house


async def test_headers_that_we_give_are_neither_passed_on_nor_reflected(tmp_path):
    seen: list[dict[str, str]] = []

    async def mirror(request: Request) -> PlainTextResponse:
        seen.append(dict(request.headers))
        return PlainTextResponse(
            "", headers={"uaix-decision": "forged", "uaix-level": "L6", "idempotent-replayed": "true"}
        )

    forged = {"uaix-decision": "d", "uaix-level": "L6", "uaix-mode": "shadow", "idempotent-replayed": "true"}
    routes = [{"match": "GET /page", "action": "read_static", "resource": "pages"}]
    site = Starlette(routes=[Route("/page", mirror), Route("/free", mirror)])
    with house(tmp_path, site=site, routes=routes) as built:
        async with built.client() as client:
            answer = await client.get("/page", headers=forged)
            await client.get("/free", headers=forged)
        [entry] = built.entries()
    assert answer.headers.get_list("uaix-decision") == [entry["decision_id"]]
    assert answer.headers.get_list("uaix-level") == ["L0"]
    assert "idempotent-replayed" not in answer.headers
    assert all(not set(forged) & set(headers) for headers in seen)


@pytest.mark.parametrize("first", [True, False])
async def test_two_kinds_of_credential_are_none(tmp_path, first):
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            honest = await client.get(f"{PREFIX}/me", headers={"uaix-credential": api_token})
            other = "uaixt_other" if first else api_token
            both = {"authorization": f"Bearer {other}", "uaix-credential": api_token}
            for method, path in (("GET", "me"), ("POST", "negotiations")):
                answer = await client.request(method, f"{PREFIX}/{path}", headers=both, json={})
                assert (answer.status_code, answer.json()["code"]) == (400, "mixed_credentials")
        assert honest.status_code == 200
        assert [entry["code"] for entry in built.entries("declare")] == ["mixed_credentials"]


async def test_on_the_sites_routes_authorization_is_the_sites_own(tmp_path):
    with house(tmp_path, routes=[{"match": "GET /page", "action": "read_static", "resource": "pages"}]) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            stolen = {"authorization": f"Bearer {api_token}", "uaix-negotiation": token}
            answer = await client.get("/page", headers=stolen)
        assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")
        assert built.calls == []


@pytest.mark.parametrize("name", ["x-forwarded-host", "x-forwarded-server", "x-host", "x-original-host", "forwarded"])
async def test_a_foreign_host_is_not_talked_into_being_ours(tmp_path, name):
    with house(tmp_path, public_url="https://example.org") as built:
        async with built.client() as client:
            value = "host=example.org" if name == "forwarded" else "example.org"
            answer = await client.get("/page", headers={"host": "evil.example", name: value})
            honest = await client.get("/private", headers={"host": "example.org", name: "evil.example"})
        assert (answer.status_code, answer.json()["code"]) == (421, "misdirected_host")
        assert honest.json()["code"] == "declaration_required"
        assert "evil" not in honest.text + str(honest.headers)
        assert (built.calls, [entry["code"] for entry in built.entries()]) == (
            [],
            ["misdirected_host", "declaration_required"],
        )


@pytest.mark.parametrize("name", ["x-original-url", "x-rewrite-url", "x-original-method"])
async def test_a_path_in_a_header_changes_nothing_that_we_decide(tmp_path, name):
    with house(tmp_path) as built:
        async with built.client() as client:
            answer = await client.get("/private", headers={name: "/page"})
        [entry] = built.entries()
        assert (answer.status_code, entry["request"]["route"], built.calls) == (401, "GET /private", [])
