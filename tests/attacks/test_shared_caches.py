"""A shared cache between us and everybody: one allowed answer is not everyone's, one denial is not an outage."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from negotiator.model.levels import Level
from tests.support.house import House, house

ROUTES = [
    {"match": "GET /data", "action": "read_json", "resource": "data", "undeclared": "deny"},
    {"match": "GET /open", "action": "read_json", "resource": "open", "undeclared": "deny", "cache": "site"},
    {"match": "GET /people", "action": "render_ui", "resource": "p", "undeclared": "human_only", "cache": "site"},
]
CONTENT = b"0123456789"
ETAG = f'"{hashlib.sha256(CONTENT).hexdigest()[:8]}"'
PUBLIC = {"etag": ETAG, "cache-control": "public, max-age=600", "expires": "Thu, 01 Jan 2037 00:00:00 GMT"}
OURS = {"UAIX-Negotiation", "UAIX-Credential", "UAIX-Correlation", "Idempotency-Key"}


async def page(request: Request) -> Response:
    """A site that is sure of its own cacheability, and knows validators and ranges."""
    if request.headers.get("if-none-match") == ETAG:
        return Response(status_code=304, headers=PUBLIC)
    if request.headers.get("range") == "bytes=2-4":
        return PlainTextResponse(CONTENT[2:5], 206, PUBLIC | {"content-range": "bytes 2-4/10", "vary": "Range"})
    return PlainTextResponse(
        CONTENT, headers=PUBLIC | {"surrogate-control": "max-age=600", "cdn-cache-control": "public"}
    )


SITE = Starlette(routes=[Route(route["match"].split()[1], page) for route in ROUTES])


@pytest.fixture
def built(tmp_path) -> Iterator[House]:
    with house(tmp_path, site=SITE, routes=ROUTES, person="ada") as made:
        yield made


async def own(built: House, client: httpx.AsyncClient) -> dict[str, str]:
    api_token = built.agent()
    return {"uaix-negotiation": await built.token(client, Level.L3, api_token), "uaix-credential": api_token}


def varies(answer: httpx.Response) -> set[str]:
    return {name.strip() for name in answer.headers["vary"].split(",")}


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [("GET", {}, 200), ("HEAD", {}, 200), ("GET", {"if-none-match": ETAG}, 304), ("GET", {"range": "bytes=2-4"}, 206)],
)
async def test_an_allowed_answer_is_its_callers_alone_whatever_the_site_says(built, method, headers, status):
    async with built.client() as client:
        answer = await client.request(method, "/data", headers=headers | await own(built, client))
    assert (answer.status_code, answer.headers.get_list("cache-control")) == (status, ["private, no-store"])
    assert not {"expires", "surrogate-control", "cdn-cache-control"} & set(answer.headers)
    assert varies(answer) >= OURS
    assert answer.headers["etag"] == ETAG
    assert len(built.entries("decision")) == 1


async def test_where_the_operator_trusts_the_site_the_key_still_holds_our_headers(built):
    async with built.client() as client:
        answer = await client.get("/open", headers=await own(built, client))
    assert answer.headers.get_list("cache-control") == ["public, max-age=600"]
    assert varies(answer) >= OURS


async def test_what_a_person_was_given_is_not_kept_for_others(built):
    """Its request carries none of our headers, so `Vary` would not tell it from a stranger's."""
    async with built.client() as client:
        given = await client.get("/people", headers={"sec-fetch-site": "same-origin"})
        stranger = await client.get("/people")
    assert (given.status_code, given.headers["cache-control"]) == (200, "private, no-store")
    assert (stranger.status_code, stranger.json()["code"]) == (401, "declaration_required")


@pytest.mark.parametrize("path", ["/data", "/open", "/people", "//data", "/data?_method=PUT"])
@pytest.mark.parametrize("headers", [{}, {"if-none-match": ETAG}, {"range": "bytes=2-4"}, {"uaix-expires": "soon"}])
async def test_a_denial_is_never_kept(built, path, headers):
    async with built.client() as client:
        answer = await client.get(f"http://127.0.0.1{path}", headers=headers)
    assert 400 <= answer.status_code < 500
    assert answer.headers.get_list("cache-control") == ["no-store"]
    assert varies(answer) >= OURS | {"Accept"}
    assert "etag" not in answer.headers
    assert [entry["decision"] for entry in built.entries()] == ["deny"]
