"""Every route of ours × everybody who may call it: one table, and no route without a row.

The objects behind `{id}` belong to the agent of the second column. To anybody else they look as if they were not there.
A new route needs a row here before anything else passes.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from negotiator.assembly import Negotiator
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from negotiator.web.discovery.endpoints import ENDPOINTS, LLMS_PATH, Endpoint
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.consents import ADA
from tests.support.house import PREFIX, House, house, settings_in

CALLERS: Final = ("none", "agent", "other agent", "other project", "human without role", "human with role")

ROUTES: Final[Mapping[str, tuple[int, int, int, int, int, int]]] = {
    # route                                none  agent other project human role
    "GET /.well-known/uaix.json":              (200, 200, 200, 200, 200, 200),
    "GET /.well-known/uaix-agent-access.json": (200, 200, 200, 200, 200, 200),
    "GET /llms.txt":                           (200, 200, 200, 200, 200, 200),
    "GET /":                                   (200, 200, 200, 200, 200, 200),
    "GET /ladder":                             (200, 200, 200, 200, 200, 200),
    "GET /profiles":                           (200, 200, 200, 200, 200, 200),
    "GET /profiles/{id}":                      (200, 200, 200, 200, 200, 200),
    "GET /schemas":                            (200, 200, 200, 200, 200, 200),
    "GET /schemas/{name}":                     (200, 200, 200, 200, 200, 200),
    "GET /registry/fields":                    (200, 200, 200, 200, 200, 200),
    "GET /examples":                           (200, 200, 200, 200, 200, 200),
    "GET /examples/{profile}":                 (200, 200, 200, 200, 200, 200),
    "GET /openapi.json":                       (200, 200, 200, 200, 200, 200),
    "GET /keys":                               (200, 200, 200, 200, 200, 200),
    "GET /parity":                             (200, 200, 200, 200, 200, 200),
    "GET /static/pages.css":                   (200, 200, 200, 200, 200, 200),
    "GET /healthz":                            (200, 200, 200, 200, 200, 200),
    "GET /readyz":                             (200, 200, 200, 200, 200, 200),
    "GET /metrics":                            (200, 200, 200, 200, 200, 200),
    "POST /negotiations":                      (201, 201, 201, 401, 201, 201),
    "GET /negotiations/{id}":                  (404, 200, 404, 401, 404, 404),
    "DELETE /negotiations/{id}":               (404, 204, 404, 401, 404, 404),
    "POST /validate":                          (200, 200, 200, 200, 200, 200),
    "GET /me":                                 (401, 200, 200, 401, 401, 401),
    "GET /memory/proposals/{id}":              (404, 200, 404, 401, 404, 404),
    "GET /effects/{id}":                       (404, 200, 404, 401, 404, 404),
    "POST /effects/{id}/settle":               (401, 401, 401, 401, 401, 401),
    "POST /consents":                          (401, 202, 202, 401, 401, 401),
    "GET /consents/{id}":                      (404, 200, 404, 401, 404, 404),
    "POST /consents/{id}/cancel":              (404, 200, 404, 401, 404, 404),
    "DELETE /approvals/{id}":                  (404, 204, 404, 401, 404, 404),
    "GET /approvals/{id}/receipt":             (404, 200, 404, 401, 404, 404),
    "POST /tasks":                             (401, 201, 201, 401, 401, 401),
    "GET /tasks/{id}":                         (404, 200, 404, 401, 404, 404),
    "POST /tasks/{id}/status":                 (404, 200, 404, 401, 404, 404),
    "POST /tasks/{id}/final-report":           (404, 200, 404, 401, 404, 404),
    "POST /evidence":                          (403, 201, 201, 401, 403, 403),
    "GET /evidence/{id}":                      (404, 200, 404, 401, 404, 404),
    "DELETE /evidence/{id}":                   (404, 204, 404, 401, 404, 404),
}  # fmt: skip
"""The status that each caller gets. People get here what a browser without a session of ours gets."""

CONSENT: Final = {
    "action": "post",
    "resource": "comments",
    "method": "POST",
    "target": "/comments",
    "content_type": "text/plain",
    "body": "hello",
}

SPECIAL: Final[Mapping[str, Any]] = {
    "request_consent": CONSENT,
    "begin_task": {
        "correlation_id": "c-1",
        "expires_at": "2026-01-31T18:00:00Z",
        "timeout_ms": 1_000,
        "fallback": "a person",
    },
    "task_status": {"profile": "uai.task.status.v1", "body": {"state": "running"}},
    "task_report": {
        "profile": "uai.agent.final-report.v1",
        "body": {"outcome": "completed", "summary": "done", "evidence": []},
    },
    "add_evidence": {
        "profile": "uai.agent.final-report.v1",
        "body": {"outcome": "completed", "summary": "other work", "evidence": []},
    },
}
"""Bodies of routes that take something else than a declaration."""

OBJECTS: Final = tuple(row for row in ROUTES if "{id}" in row and "profiles" not in row)
NOBODYS_ID: Final = "01890a5d-ac96-774b-bcce-b302099a8057"


def label(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


@dataclass(frozen=True)
class Town:
    """A site, and what each caller has in hand."""

    built: House
    client: httpx.AsyncClient
    hands: Mapping[str, Mapping[str, str]]
    objects: Mapping[str, str]

    async def ask(self, row: str, caller: str, *, method: str = "", id_: str = "") -> httpx.Response:
        """Send the request of a row as a caller would."""
        endpoint = next(each for each in ENDPOINTS if label(each) == row)
        path = endpoint.full_path(PREFIX)
        for name, value in {**self.objects, **({row: id_} if id_ else {})}.items():
            if name == row:
                path = re.sub(r"\{\w+\}", value, path)
        content: dict[str, Any] = {}
        if endpoint.name in SPECIAL:
            content["json"] = SPECIAL[endpoint.name]
        elif endpoint.request:
            content["json"] = load_catalog().examples[PROFILE_OF_LEVEL[Level.L2]]
        headers = {**self.hands[caller], **({"idempotency-key": f"once-{CALLERS.index(caller)}"} if content else {})}
        return await self.client.request(method or endpoint.method, path, headers=headers, **content)


async def arrives(built: House, client: httpx.AsyncClient, name: str) -> dict[str, str]:
    """Register an agent, let it declare itself, and return what it sends on our routes."""
    api_token = built.agent(name, max_level=Level.L4)
    token = await built.token(client, Level.L4, api_token)
    return {"authorization": f"Bearer {api_token}", "uaix-negotiation": token}


async def arrives_elsewhere(built: House, folder: Path, database_url: str) -> dict[str, str]:
    """Do the same in another project of the same database, with the same keys."""
    negotiator = Negotiator(settings_in(folder, database=database_url, project="other"), clock=built.clock)
    try:
        other = House(
            negotiator=negotiator, app=NegotiatorMiddleware(built.app, negotiator=negotiator), clock=built.clock
        )
        async with other.client() as client:
            return await arrives(other, client, "stranger")
    finally:
        negotiator.stop()


async def files_memory(client: httpx.AsyncClient, own: Mapping[str, str]) -> str:
    """Let an agent file a proposal and return its id."""
    site = {
        "uaix-credential": own["authorization"].removeprefix("Bearer "),
        "uaix-negotiation": own["uaix-negotiation"],
        "uaix-correlation": "c-1",
        "idempotency-key": "k-1",
    }
    held = await client.put("/memory/tea", content=b"left", headers=site)
    assert held.status_code == 202, held.text
    return str(held.json()["proposal_id"])


async def has_an_effect(client: httpx.AsyncClient, own: Mapping[str, str]) -> str:
    """Let an agent cause an effect and return its id."""
    site = {
        "uaix-credential": own["authorization"].removeprefix("Bearer "),
        "uaix-negotiation": own["uaix-negotiation"],
    }
    shown = await client.get("/screen", headers=site)
    assert shown.status_code == 200, shown.text
    return str(shown.headers["uaix-decision"])


async def has_begun(client: httpx.AsyncClient, own: Mapping[str, str]) -> str:
    """Let an agent begin a task and return its id."""
    begun = await client.post(f"{PREFIX}/tasks", json=SPECIAL["begin_task"], headers={**own, "idempotency-key": "t-1"})
    assert begun.status_code == 201, begun.text
    return str(begun.json()["task_id"])


async def has_handed_in(client: httpx.AsyncClient, own: Mapping[str, str]) -> str:
    """Let an agent hand in evidence and return its id."""
    handed = await client.post(f"{PREFIX}/evidence?kind=provenance", content=b"built here", headers=own)
    assert handed.status_code == 201, handed.text
    return str(handed.json()["id"])


async def is_given_consent(built: House, client: httpx.AsyncClient, own: Mapping[str, str]) -> tuple[str, str, str]:
    """Let an agent ask three times, a person approve once, and return the two that wait and the approval."""
    ids = []
    for number in range(3):
        wanted = {**CONSENT, "body": str(number)}
        asked = await client.post(
            f"{PREFIX}/consents", json=wanted, headers={**own, "idempotency-key": f"consent-{number}"}
        )
        assert asked.status_code == 202, asked.text
        ids.append(asked.json()["id"])
    decisions = built.negotiator.consent_decisions
    shown = await decisions.show(ADA, ids[2])
    await decisions.decide(ADA, ids[2], displayed_digest=shown.digest, decision="approve")
    approved = await client.get(f"{PREFIX}/consents/{ids[2]}", headers=own)
    return ids[0], ids[1], approved.json()["approval_id"]


@asynccontextmanager
async def town(folder: Path, database_url: str) -> AsyncIterator[Town]:
    with house(folder, person="ana", database=database_url) as built:
        async with built.client() as client:
            own = await arrives(built, client, "owner")
            negotiation_id = built.entries("declare")[-1]["negotiation_id"]
            browser = {"sec-fetch-site": "same-origin", "cookie": "session=ana"}
            hands = {
                "none": {},
                "agent": own,
                "other agent": await arrives(built, client, "other"),
                "other project": await arrives_elsewhere(built, folder, database_url),
                "human without role": browser,
                "human with role": browser,
            }
            waiting, cancelled, approval_id = await is_given_consent(built, client, own)
            objects = {
                "GET /profiles/{id}": PROFILE_OF_LEVEL[Level.L0],
                "GET /schemas/{name}": "capability",
                "GET /examples/{profile}": PROFILE_OF_LEVEL[Level.L0],
                "GET /negotiations/{id}": negotiation_id,
                "DELETE /negotiations/{id}": negotiation_id,
                "GET /consents/{id}": waiting,
                "POST /consents/{id}/cancel": cancelled,
                "DELETE /approvals/{id}": approval_id,
                "GET /approvals/{id}/receipt": approval_id,
                "GET /memory/proposals/{id}": await files_memory(client, own),
                "GET /effects/{id}": (effect_id := await has_an_effect(client, own)),
                "POST /effects/{id}/settle": effect_id,
                "GET /tasks/{id}": (task_id := await has_begun(client, own)),
                "POST /tasks/{id}/status": task_id,
                "POST /tasks/{id}/final-report": task_id,
                "GET /evidence/{id}": (evidence_id := await has_handed_in(client, own)),
                "DELETE /evidence/{id}": evidence_id,
            }
            yield Town(built, client, hands, objects)


def test_every_route_has_a_row_and_every_row_a_route():
    assert sorted(ROUTES) == sorted(label(endpoint) for endpoint in ENDPOINTS)


@pytest.mark.parametrize("row", ROUTES)
async def test_who_gets_what(tmp_path: Path, database_url: str, row: str):
    """Those to whom the object does not belong go first: what they did has not moved it."""
    async with town(tmp_path, database_url) as here:
        expected = dict(zip(CALLERS, ROUTES[row], strict=True))
        strangers = [caller for caller in CALLERS if caller != "agent"]
        if row.startswith("GET "):
            heads = {caller: (await here.ask(row, caller, method="HEAD")).status_code for caller in CALLERS}
            assert heads == expected
        answers = {caller: (await here.ask(row, caller)).status_code for caller in [*strangers, "agent"]}
        assert answers == expected
        others = [call for call in here.built.calls if not call.endswith((f" {LLMS_PATH}", " /screen"))]
        assert others == [], "only for /llms.txt the site is asked first"


@pytest.mark.parametrize("row", OBJECTS)
@pytest.mark.parametrize("caller", [caller for caller in CALLERS if caller != "agent"])
async def test_what_is_somebody_elses_looks_as_if_it_were_not_there(
    tmp_path: Path, database_url: str, row: str, caller: str
):
    async with town(tmp_path, database_url) as here:
        entries = len(here.built.entries())
        foreign = await here.ask(row, caller)
        unknown = await here.ask(row, caller, id_=NOBODYS_ID)
        assert foreign.status_code == unknown.status_code in {401, 404}
        assert seen(foreign) == seen(unknown)
        assert len(here.built.entries()) == entries, "nothing moved"


def seen(answer: httpx.Response) -> tuple[dict[str, str], Any]:
    """Return an answer without what names its request."""
    problem = answer.json()
    problem.pop("instance", "")
    return dict(answer.headers), problem
