"""Pages of other origins: a preflight reaches the site's own CORS code, and is no way in for anything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.support.house import PREFIX, House, house

PAGE = "https://page.example"
PREFLIGHT = {"origin": PAGE, "access-control-request-method": "POST"}
ROUTES = [
    {"match": "POST /comments", "action": "post", "resource": "comments"},
    {"match": "* /everything", "action": "post", "resource": "everything"},
]


class Site:
    """A site with CORS in front of handlers that do their work whatever the method is."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def work(self, request: Request) -> PlainTextResponse:
        self.done.append(f"{request.method} {request.url.path}")
        return PlainTextResponse("done")

    def app(self, *, cors: bool = True) -> Any:
        methods = ["GET", "POST", "OPTIONS"]
        routes = [Route(path, self.work, methods=methods) for path in ("/comments", "/everything")]
        return allowing(Starlette(routes=routes)) if cors else Starlette(routes=routes)


def allowing(app: Any) -> CORSMiddleware:
    return CORSMiddleware(app, allow_origins=[PAGE], allow_methods=["POST"], expose_headers=["UAIX-Decision"])


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def built(tmp_path, site: Site) -> Iterator[House]:
    with house(tmp_path, site=site.app(), routes=ROUTES) as made:
        yield made


async def test_a_preflight_is_answered_by_the_site_and_no_effect_of_anybody(built, site):
    async with built.client() as client:
        answer = await client.options("/comments", headers=PREFLIGHT)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, PAGE)
    assert (site.done, built.entries()) == ([], [])


async def test_what_follows_the_preflight_is_decided(built, site):
    async with built.client() as client:
        answer = await client.post("/comments", headers={"origin": PAGE})
    assert (answer.status_code, answer.json()["code"]) == (401, "declaration_required")
    assert (site.done, [entry["decision"] for entry in built.entries()]) == ([], ["deny"])


@pytest.mark.parametrize("headers", [PREFLIGHT, {"origin": PAGE}, {}, PREFLIGHT | {"uaix-correlation": "c"}])
async def test_a_rule_for_every_method_covers_options_and_its_disguise(built, site, headers):
    """`*` means what it says: an undecided OPTIONS would run a handler that does not look at its method."""
    async with built.client() as client:
        answer = await client.options("/everything", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "declaration_required")
    assert (site.done, [entry["decision"] for entry in built.entries()]) == ([], ["deny"])


@pytest.mark.parametrize(
    ("target", "headers", "content"),
    [
        ("/comments?_method=POST", {}, b""),
        ("/comments", {"x-http-method-override": "POST"}, b""),
        ("/comments", {"content-type": "application/x-www-form-urlencoded"}, b"_method=POST"),
        ("/comments", {"content-type": "application/x-www-form-urlencoded; a=b"}, b"a=1&_method=POST"),
    ],
)
async def test_a_preflight_cannot_name_another_method(tmp_path, site, target, headers, content):
    with house(tmp_path, site=site.app(cors=False), routes=ROUTES) as built:
        async with built.client() as client:
            answer = await client.request("OPTIONS", target, headers=PREFLIGHT | headers, content=content)
        assert (answer.status_code, answer.json()["code"]) == (400, "method_override")
        assert (site.done, len(built.entries())) == ([], 1)


async def test_around_us_the_sites_cors_also_lets_its_pages_read_refusals(built, site):
    transport = httpx.ASGITransport(app=allowing(built.app))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.options("/comments", headers=PREFLIGHT)).status_code == 200
        assert (await client.options("/everything", headers=PREFLIGHT)).status_code == 200
        refused = await client.post("/comments", headers={"origin": PAGE})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)
    assert (site.done, [entry["decision"] for entry in built.entries()]) == ([], ["deny"])


@pytest.mark.parametrize(
    "path", [f"{PREFIX}/negotiations", f"{PREFIX}/me", f"{PREFIX}/ladder", "/.well-known/uaix.json"]
)
@pytest.mark.parametrize("method", ["OPTIONS", "GET", "POST"])
async def test_our_own_routes_are_open_to_no_other_origin(built, path, method):
    async with built.client() as client:
        answer = await client.request(method, path, headers=PREFLIGHT | {"uaix-level": "L6", "uaix-decision": "d"})
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert PAGE not in answer.text
    assert "L6" not in answer.headers.values()
