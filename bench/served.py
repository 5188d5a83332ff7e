"""`python -m bench.served VARIANT DATABASE FOLDER`: a server for the benchmarks over HTTP.

It prints its port and the API token of an agent.

| variant | what answers |
| --- | --- |
| `whole` | the house, every decision asked of Cedar anew |
| `cached` | the house as it is shipped |
| `shipped` | the same with the shipped budgets |
| `forgetful` | as `whole`, but nothing is written: each unit runs against a transaction that agrees to everything |
| `floor` | no policies: an entry is made durable, and then the request is answered |

It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bench.ledger import DRAFT
from negotiator.assembly import Negotiator
from negotiator.config import BudgetSettings, RouteSettings, Settings
from negotiator.model.budgets import BUDGETS
from negotiator.model.entries import EntryDraft, EntryPosition
from negotiator.model.levels import Level
from negotiator.policy import Engine, surface_of
from negotiator.services.policies import Policies
from negotiator.web.middleware import NegotiatorMiddleware

ROUTES = (
    RouteSettings(match="GET /page", action="read_static", resource="pages"),
    RouteSettings(match="GET /screen", action="render_ui", resource="screens"),
)
PLENTY = 1_000_000


async def _page(_request: Request) -> Response:
    return PlainTextResponse("hello")


def _site() -> ASGIApp:
    return Starlette(routes=[Route(path, _page) for path in ("/page", "/screen", "/plain")])


def _negotiator(database: str, folder: Path, *, plenty: bool, cache_size: int | None = None) -> Negotiator:
    budgets = BudgetSettings(**dict.fromkeys(BUDGETS, PLENTY) | {"free_mebibytes": 0}) if plenty else BudgetSettings()
    settings = Settings(database=database, keys_dir=folder / "keys", routes=ROUTES, budgets=budgets)
    negotiator = Negotiator(settings)
    if cache_size is not None:
        loaded = negotiator.engine
        engine = Engine(loaded.bundle, name=loaded.name, cache_size=cache_size)
        negotiator.__dict__["policies"] = Policies(engine, surface=surface_of(negotiator.routes))
    return negotiator


def _house(negotiator: Negotiator) -> ASGIApp:
    return NegotiatorMiddleware(_site(), negotiator=negotiator)


class _Agreeable:
    """A transaction that makes every claim true and keeps nothing."""

    def __init__(self, tx: Any) -> None:  # noqa: ANN401 - a stand-in
        self._tx = tx

    def append(self, _draft: EntryDraft) -> EntryPosition:
        return EntryPosition(index=0, leaf_hash="")

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a stand-in
        return getattr(self._tx, name) if name in {"now", "project", "owner"} else _Yes()


class _Yes:
    def __getattr__(self, name: str) -> Callable[..., object]:
        return lambda *_given, **_named: None if name in {"take", "get"} else True


def _forgetful(negotiator: Negotiator) -> ASGIApp:
    """Let declarations be kept, and governed requests not."""
    store = negotiator.store
    transact = store.transact
    owner: Any = store.transact_sync(lambda tx: tx)

    async def forget(unit: Callable[[Any], Any], *lane: Any) -> Any:  # noqa: ANN401 - any unit
        governed = getattr(unit, "__qualname__", "").startswith(("Enforcement.", "Effect."))
        return unit(_Agreeable(owner)) if governed else await transact(unit, *lane)

    store.transact = forget  # type: ignore[method-assign]
    return _house(negotiator)


def _floor(negotiator: Negotiator) -> ASGIApp:
    async def page(_request: Request) -> Response:
        await negotiator.store.transact(lambda tx: tx.append(DRAFT))
        return PlainTextResponse("hello")

    return Starlette(routes=[Route("/{path:path}", page, methods=["GET", "POST"])])


VARIANTS: Mapping[str, tuple[Callable[[Negotiator], ASGIApp], bool, int | None]] = {
    "whole": (_house, True, 0),
    "cached": (_house, True, None),
    "shipped": (_house, False, None),
    "forgetful": (_forgetful, True, 0),
    "floor": (_floor, True, None),
}


async def main(variant: str, database: str, folder: str) -> None:
    build, plenty, cache_size = VARIANTS[variant]
    negotiator = _negotiator(database, Path(folder), plenty=plenty, cache_size=cache_size)
    api_token = negotiator.administration.add_agent("bench", max_level=Level.L3, actor="bench").api_token
    app = build(negotiator)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False))
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], api_token, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
