"""A whole house in a temporary folder: a site that notes its calls, behind the middleware and the shipped policies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from negotiator.assembly import Negotiator
from negotiator.config import Settings
from negotiator.model.budgets import BUDGETS
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.time import StillClock

__all__ = ["PLENTY", "PREFIX", "House", "house", "settings_in"]

PREFIX = "/uaix/v1"

ROUTES: tuple[dict[str, Any], ...] = (
    {"match": "GET /page", "action": "read_static", "resource": "pages", "publish": True},
    {"match": "GET /data", "action": "read_json", "resource": "data"},
    {"match": "GET /private", "action": "read_json", "resource": "private", "undeclared": "deny"},
    {"match": "GET /screen", "action": "render_ui", "resource": "screens"},
    {"match": "POST /comments", "action": "post", "resource": "comments"},
    {"match": "POST /form", "action": "submit_form", "resource": "form", "undeclared": "human_only"},
    {
        "match": "POST /open",
        "action": "post",
        "resource": "open",
        "undeclared": "pass",
        "undeclared_reason": "a public guest book",
    },
    {"match": "POST /tool", "action": "call_tool", "resource": "search"},
    {"match": "POST /task", "action": "run_task", "resource": "tasks"},
    {"match": "PUT /memory/{path:path}", "action": "write_memory", "resource": "memory"},
)

PLENTY = {name: 0 if name == "free_mebibytes" else 10_000 for name in BUDGETS}
"""Budgets that no test spends by accident, and no reserve: the machine's disk is not what is tested."""


@dataclass
class House:
    """What a test needs of the house.

    Attributes:
        calls: what reached the site: method and path.
        bodies: the bodies that it was given.
    """

    negotiator: Negotiator
    app: ASGIApp
    clock: StillClock
    calls: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give an HTTP client of the site."""
        transport = httpx.ASGITransport(app=self.app, client=("127.0.0.1", 50_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client

    def entries(self, kind: str = "") -> list[dict[str, Any]]:
        """Return the ledger's entries, of one kind or all."""
        every = [orjson.loads(line) for line in self.negotiator.audit.tail(100_000)]
        return [entry for entry in every if not kind or entry["kind"] == kind]

    def agent(self, name: str = "helper", max_level: Level = Level.L3) -> str:
        """Register an agent and return its API token."""
        return self.negotiator.administration.add_agent(name, max_level=max_level, actor="test").api_token

    async def token(self, client: httpx.AsyncClient, level: Level, api_token: str = "") -> str:
        """Declare the published example of a level and return the negotiation's token."""
        headers = {"authorization": f"Bearer {api_token}"} if api_token else {}
        document = load_catalog().examples[PROFILE_OF_LEVEL[level]]
        answer = await client.post(f"{PREFIX}/negotiations", json=document, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
        token: str = answer.json()["body"]["token"]
        return token


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Return settings whose state stands below `folder`."""
    values = {
        "database": f"sqlite:///{folder / 'data' / 'negotiator.db'}",
        "keys_dir": folder / "keys",
        "routes": list(ROUTES),
        "budgets": PLENTY,
    }
    return Settings.model_validate(values | changes)


@contextmanager
def house(folder: Path, *, person: str = "", site: ASGIApp | None = None, **changes: Any) -> Iterator[House]:
    """Build a house below `folder` and let go of it at the end.

    Args:
        folder: an empty folder.
        person: who the site's own sign-in vouches for.
        site: the site itself, if not the one that notes its calls.
        changes: settings that differ from `settings_in`.
    """
    clock = StillClock()
    calls: list[str] = []
    bodies: list[bytes] = []

    async def answer(request: Request) -> Response:
        calls.append(f"{request.method} {request.url.path}")
        bodies.append(await request.body())
        return PlainTextResponse("from the site")

    noting = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST", "PUT", "DELETE", "PATCH"])])
    negotiator = Negotiator(
        settings_in(folder, **changes), human_authenticator=(lambda _scope: person) if person else None, clock=clock
    )
    try:
        app = NegotiatorMiddleware(site or noting, negotiator=negotiator)
        yield House(negotiator=negotiator, app=app, clock=clock, calls=calls, bodies=bodies)
    finally:
        negotiator.stop()
