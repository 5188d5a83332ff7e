"""A key is bought once: used again with anything else it is refused, and in another slot it is another key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from negotiator.model.levels import Level
from tests.support.house import House, house

ROUTES = (
    {"match": "GET,POST,PUT /task/{name}", "action": "run_task", "resource": "tasks"},
    {"match": "POST /other/{name}", "action": "run_task", "resource": "tasks"},
    {"match": "POST /comments", "action": "post", "resource": "comments"},
    {"match": "POST /forbidden", "action": "coordinate_agents", "resource": "swarm"},
)
ONWARD = {"uaix-correlation": "c-1", "uaix-expires": "2099-01-01T00:00:00Z"}


@dataclass
class Scene:
    built: House
    client: httpx.AsyncClient
    headers: dict[str, str]
    answered: list[str]

    async def ask(
        self, method: str = "POST", target: str = "/task/a?x=1", body: bytes = b"one", **headers: str | None
    ) -> httpx.Response:
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"content-type": "text/plain", "idempotency-key": "k-1", **self.headers, **ONWARD, **own}
        return await self.client.request(
            method, target, content=body, headers={name: value for name, value in sent.items() if value is not None}
        )


async def agent(built: House, client: httpx.AsyncClient, name: str) -> dict[str, str]:
    api_token = built.agent(name, max_level=Level.L4)
    return {"uaix-credential": api_token, "uaix-negotiation": await built.token(client, Level.L4, api_token)}


@asynccontextmanager
async def scene(folder: Path, database_url: str, **settings: Any) -> AsyncIterator[Scene]:
    answered: list[str] = []

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        answered.append(f"{scope['method']} {scope['path']}")
        headers = {"set-cookie": "secret=1", "etag": '"v1"', "x-internal": "no", "vary": "Cookie"}
        await Response(f"answer {len(answered)}", 201, headers)(scope, receive, send)

    with house(folder, database=database_url, routes=list(ROUTES), site=site, **settings) as built:
        async with built.client() as client:
            yield Scene(built, client, await agent(built, client, "helper"), answered)


async def test_the_same_request_again_hears_the_same_answer_and_the_site_is_not_called(
    tmp_path: Path, database_url: str
):
    async with scene(tmp_path, database_url) as at:
        first = await at.ask()
        assert (first.status_code, first.text) == (201, "answer 1")
        again = await at.ask(uaix_correlation="c-2", traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
        assert (again.status_code, again.text, again.headers["etag"]) == (201, "answer 1", '"v1"')
        assert again.headers["idempotent-replayed"] == "true"
        assert "idempotent-replayed" not in first.headers
        assert "set-cookie" not in again.headers
        assert "x-internal" not in again.headers
        assert again.headers["uaix-decision"] != first.headers["uaix-decision"]
        assert again.headers["cache-control"] == "private, no-store"
        assert again.headers["vary"].startswith("Cookie, UAIX-Negotiation")
        assert again.headers["content-length"] == str(len("answer 1"))
        assert at.answered == ["POST /task/a"]
        kinds = [entry["kind"] for entry in at.built.entries()][-3:]
        assert kinds == ["intent", "outcome", "replay"]
        intent, outcome, replay = at.built.entries()[-3:]
        assert outcome["answer_kept"] is True
        assert replay["first_decision_id"] == intent["decision_id"] == first.headers["uaix-decision"]
        assert replay["decision_id"] == again.headers["uaix-decision"]
        assert (replay["status"], replay["decision"]) == (201, "allow")


OTHERWISE: tuple[dict[str, Any], ...] = (
    {"target": "/task/b?x=1"},
    {"target": "/task/a?x=2"},
    {"target": "/task/a"},
    {"body": b"two"},
    {"content_type": "text/html"},
    {"content_type": None},
    {"content_encoding": "gzip"},
    {"range": "bytes=0-1"},
    {"if_match": '"v1"'},
    {"if_none_match": "*"},
    {"if_modified_since": "Thu, 01 Dec 2033 16:00:00 GMT"},
)


@pytest.mark.parametrize("changes", OTHERWISE, ids=lambda changes: " ".join(f"{k}={v}" for k, v in changes.items()))
async def test_a_key_with_anything_else_is_a_mismatch(tmp_path: Path, database_url: str, changes: dict[str, Any]):
    async with scene(tmp_path, database_url) as at:
        first = await at.ask()
        other = await at.ask(**changes)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch"), other.text
        assert len(at.answered) == 1
        assert (await at.ask()).text == first.text
        *_, refused, _replay = at.built.entries()
        assert (refused["kind"], refused["decision"], refused["code"]) == ("decision", "deny", "idempotency_mismatch")


@pytest.mark.parametrize("changes", [{"method": "PUT"}, {"method": "GET"}, {"target": "/other/a?x=1"}])
async def test_another_method_or_route_is_another_slot(tmp_path: Path, database_url: str, changes: dict[str, Any]):
    async with scene(tmp_path, database_url) as at:
        await at.ask()
        other = await at.ask(**changes)
        assert (other.status_code, other.text) == (201, "answer 2")
        assert "idempotent-replayed" not in other.headers


async def test_another_agents_key_is_another_key(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await at.ask()
        other = await agent(at.built, at.client, "other")
        answer = await at.ask(**{name.replace("-", "_"): value for name, value in other.items()})
        assert (answer.status_code, answer.text) == (201, "answer 2")


async def test_a_new_negotiation_of_the_same_agent_is_the_same_slot(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await at.ask()
        at.built.clock.advance(3_601)
        token = await at.built.token(at.client, Level.L4, at.headers["uaix-credential"])
        again = await at.ask(uaix_negotiation=token)
        assert (again.text, again.headers["idempotent-replayed"]) == ("answer 1", "true")


@pytest.mark.parametrize(
    ("lacking", "code"),
    [("uaix_correlation", "correlation_required"), ("uaix_expires", "expiry_required")],
)
async def test_a_reused_key_is_told_before_what_else_is_missing(
    tmp_path: Path, database_url: str, lacking: str, code: str
):
    async with scene(tmp_path, database_url) as at:
        await at.ask()
        mismatch = await at.ask(body=b"two", **{lacking: None})
        assert (mismatch.status_code, mismatch.json()["code"]) == (422, "idempotency_mismatch")
        assert [each["id"] for each in mismatch.json()["obligations"]] == [code.removesuffix("_required")]
        missing = await at.ask(**{lacking: None})
        assert (missing.status_code, missing.json()["code"]) == (400, code), "the stored answer is only for the allowed"
        assert len(at.answered) == 1


async def test_what_is_never_allowed_is_refused_before_the_key_is_looked_at(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await at.ask()
        lower = await at.built.token(at.client, Level.L2, at.headers["uaix-credential"])
        for body in (b"one", b"two"):
            refused = await at.ask(uaix_negotiation=lower, body=body)
            assert (refused.status_code, refused.json()["code"]) == (403, "refused")
        at.built.negotiator.administration.revoke_agent("helper", actor="test")
        refused = await at.ask()
        assert (refused.status_code, refused.json()["code"]) == (401, "credentials_invalid")


async def test_a_refusal_takes_no_key(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        refused = await at.ask(uaix_correlation=None)
        assert refused.json()["code"] == "correlation_required"
        assert (await at.ask(body=b"two")).status_code == 201


async def test_an_expired_repetition_is_refused_and_a_fresh_one_is_answered(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        soon = (at.built.clock.now().replace(microsecond=0)).strftime("%Y-%m-%dT%H:%M:59Z")
        await at.ask(uaix_expires=soon)
        at.built.clock.advance(120)
        late = await at.ask(uaix_expires=soon)
        assert (late.status_code, late.json()["code"]) == (400, "packet_expired")
        assert (await at.ask()).headers["idempotent-replayed"] == "true"


async def test_an_answer_over_the_cap_is_not_kept_and_never_in_part(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url, max_stored_answer_bytes=5) as at:
        await at.ask()
        again = await at.ask()
        assert (again.status_code, again.json()["code"]) == (409, "idempotency_answer_not_stored")
        assert "answer_kept" not in at.built.entries("outcome")[-1]
        assert len(at.answered) == 1


async def test_a_key_is_new_after_its_lifetime(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url, key_lifetime_hours=1) as at:
        await at.ask()
        at.built.clock.advance(3_500)
        await at.built.negotiator.store.transact(lambda _tx: None)
        at.headers["uaix-negotiation"] = await at.built.token(at.client, Level.L4, at.headers["uaix-credential"])
        assert (await at.ask()).text == "answer 1"
        at.built.clock.advance(200)
        for _ in range(2):
            await at.built.negotiator.store.transact(lambda _tx: None)
        at.headers["uaix-negotiation"] = await at.built.token(at.client, Level.L4, at.headers["uaix-credential"])
        assert (await at.ask(body=b"two")).text == "answer 2"
