"""A house in which an agent asks and a person decides, without the pages for people."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx

from negotiator.model.approvers import Approver
from negotiator.model.consents import ConsentState, Narrowing
from negotiator.model.levels import Level
from tests.support.house import PREFIX, House, house

__all__ = ["ADA", "ROUTES", "Desk", "arrived", "desk", "person"]

ROUTES: tuple[dict[str, Any], ...] = (
    {"match": "GET /data", "action": "read_json", "resource": "data"},
    {"match": "POST /comments", "action": "post", "resource": "comments"},
    {"match": "POST /news", "action": "publish", "resource": "news", "auto_request": True},
    {"match": "POST /bound", "action": "post", "resource": "bound", "bind_headers": ["X-Tenant"]},
    {"match": "POST /guarded", "action": "post", "resource": "guarded", "protected": True},
    {"match": "POST /pair", "action": "post", "resource": "pair", "two_person": True},
    {"match": "POST /flow", "action": "post", "resource": "flow", "stream_body": True, "auto_request": True},
    {"match": "POST /tool", "action": "call_tool", "resource": "search"},
)


def person(person_id: str = "ada", *, assurance: int = 3, roles: tuple[str, ...] = ("approver",)) -> Approver:
    """Return a signed-in person."""
    return Approver(person_id=person_id, name=person_id.title(), roles=frozenset(roles), assurance=assurance)


ADA = person()


@dataclass
class Desk:
    """An agent with its negotiation, and people who decide.

    Attributes:
        site: what the agent sends on the site's routes.
        own: what it sends on ours.
    """

    built: House
    client: httpx.AsyncClient
    site: dict[str, str]
    own: dict[str, str]
    asked: int = 0

    async def ask(self, *, key: str = "", **changes: Any) -> httpx.Response:
        """Post a consent request for `POST /comments` with the body `hello`."""
        self.asked += 1
        document = {
            "action": "post", "resource": "comments", "method": "POST", "target": "/comments",
            "content_type": "text/plain", "body": "hello", "reason": "a reader asked for it",
        }  # fmt: skip
        wanted = {name: value for name, value in {**document, **changes}.items() if value is not None}
        headers = {**self.own, "idempotency-key": key or f"ask-{self.asked}"}
        return await self.client.post(f"{PREFIX}/consents", json=wanted, headers=headers)

    async def decide(
        self,
        request_id: str,
        decision: Literal["approve", "deny"] = "approve",
        *,
        approver: Approver = ADA,
        narrowing: Narrowing | None = None,
    ) -> ConsentState:
        """Look at a request, then decide it."""
        decisions = self.built.negotiator.consent_decisions
        shown = await decisions.show(approver, request_id)
        return await decisions.decide(
            approver, request_id, displayed_digest=shown.digest, decision=decision, narrowing=narrowing
        )

    async def status(self, request_id: str, **headers: str) -> dict[str, Any]:
        """Return what the agent is told of its request."""
        answer = await self.client.get(f"{PREFIX}/consents/{request_id}", headers={**self.own, **headers})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def approved(self, *, approver: Approver = ADA, narrowing: Narrowing | None = None, **changes: Any) -> str:
        """Ask, let a person approve, and return the approval's id."""
        answer = await self.ask(**changes)
        assert answer.status_code == 202, answer.text
        request_id = answer.json()["id"]
        assert await self.decide(request_id, approver=approver, narrowing=narrowing) is ConsentState.APPROVED
        return str((await self.status(request_id))["approval_id"])

    async def write(
        self,
        approval_id: str = "",
        *,
        key: str = "",
        path: str = "/comments",
        content: bytes = b"hello",
        **headers: str,
    ) -> httpx.Response:
        """Send the write itself."""
        self.asked += 1
        lines = {
            **self.site,
            "idempotency-key": key or f"write-{self.asked}",
            "content-type": "text/plain",
            **({"uaix-consent": approval_id} if approval_id else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return await self.client.post(path, content=content, headers=lines)


@asynccontextmanager
async def desk(folder: Path, *, agent: str = "helper", **changes: Any) -> AsyncIterator[Desk]:
    """Give a house with `ROUTES` and an agent of level L3 that has declared itself there."""
    with house(folder, **{"routes": list(ROUTES), **changes}) as built:
        async with built.client() as client:
            yield await arrived(built, client, agent)


async def arrived(built: House, client: httpx.AsyncClient, name: str, *, operated_by: str = "grace") -> Desk:
    """Register another agent and let it declare itself."""
    new = built.negotiator.administration.add_agent(name, max_level=Level.L3, operated_by=operated_by, actor="test")
    token = await built.token(client, Level.L3, new.api_token)
    return Desk(
        built=built,
        client=client,
        site={"uaix-credential": new.api_token, "uaix-negotiation": token},
        own={"authorization": f"Bearer {new.api_token}", "uaix-negotiation": token},
    )
