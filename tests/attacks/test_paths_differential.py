"""Odd spellings of paths and methods, against four routers: what reaches a governed handler has its rule's entry.

The configuration is the laxest that there is: every rule lets undeclared callers pass, and so do requests without a
rule. Only the rules' own entries tell that a request was seen.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.support.asgi import Server, body, http_scope
from tests.support.house import House, house
from tests.support.routers import PATHS, ROUTERS, Reached

PLACES = {
    "/comments": "/comments",
    "/comments/{id}": "/comments/7",
    "/slashed/": "/slashed/",
    "/sub/inner": "/sub/inner",
    "/files/{path:path}": "/files/a/b",
}
GOVERNED = {path: ("DELETE" if path == "/comments/{id}" else "POST") for path in PATHS}
ROUTES = [
    {
        "match": f"{method} {path}",
        "action": "post",
        "resource": f"r{number}",
        "undeclared": "pass",
        "undeclared_reason": "to see what reaches the site",
    }
    for number, (path, method) in enumerate(GOVERNED.items())
]
FORM = (b"content-type", b"application/x-www-form-urlencoded")
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "post", "Delete", "TRACE", "QUERY")


def _spellings(path: str) -> Iterator[str]:
    """Yield ways to write `path` that some server, framework or file system takes for it."""
    first, rest = path[1], path[2:]
    coded = f"%{ord(first):02x}"
    yield from (path, f"{path}/", path.rstrip("/"), f"{path}//", f"/{path}", f"//{path}", path.replace("/", "//"))
    yield from (f"/{coded}{rest}", f"/%25{coded[1:]}{rest}", f"/%2525{coded[1:]}{rest}", f"/{coded.upper()}{rest}")
    yield from (path.replace("/", "%2F"), f"/{path[1:].replace('/', '%2f')}", path.replace("/", "%252F"))
    yield from (path.upper(), path.title(), path.swapcase())
    yield from (
        f"/x/..{path}",
        f"/./{path[1:]}",
        f"{path}/.",
        f"{path}/x/..",
        f"/x/%2e%2e{path}",
        f"/x/%252e%252e{path}",
    )
    yield from (f"/..{path}", f"/x/.%2e{path}", f"/%2e{path}", f"/x%2f..{path}", f"/x\\..{path}", f"/x/..;{path}")
    yield from (f"{path};a=b", f"/;a=b{path}", f"/{path[1:]};", f"{path}%3Ba=b", f"/x;/..{path}")
    yield from (f"{path}%00", f"{path}%00.html", f"/%00{path[1:]}", f"{path}%2500", f"{path}%0A", f"{path}%0d%0a")
    yield from (path.replace("/", "\\"), f"\\{path[1:]}", path.replace("/", "%5C"), f"/x/..%5c{path[1:]}")
    yield from (f"{path}.", f"{path}%20", f"{path}%09", f"{path}%2e", f"/%20{path[1:]}")
    yield from (f"{path}?", f"{path}?x=/..", f"{path}%3Fx=1", f"{path}#x", f"{path}%23")
    yield from (f"/%ef%bd{0x81 + ord(first) - ord('a'):02x}{rest}", f"{path}%c2%a0", f"{path}%ff", f"{path}%e2%80%8b")
    yield from (f"http://127.0.0.1{path}", f"//127.0.0.1{path}", f"/%{coded}{rest}", f"/%u00{coded[1:]}{rest}")


@pytest.fixture(scope="module", params=ROUTERS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, Reached]]:
    reached: Reached = []
    logging.getLogger("django.request").setLevel(logging.CRITICAL)
    made_site = ROUTERS[request.param](reached)
    folder = tmp_path_factory.mktemp("house")
    unmatched = {"unsafe": "pass"}
    with house(folder, site=made_site, routes=ROUTES, database="sqlite://", unmatched=unmatched) as made:
        yield made, reached


def scope_of(method: str, target: str, *headers: tuple[bytes, bytes], root_path: str = "") -> dict[str, Any]:
    """Return a scope as uvicorn makes it, with bytes that are no UTF-8 replaced."""
    raw = target.partition("?")[0]
    path = unquote_to_bytes(raw).decode("utf-8", "replace")
    return dict(http_scope(method, target, *headers, path=path, root_path=root_path, extensions={}))


async def check(
    site: tuple[House, Reached], scope: dict[str, Any], content: bytes = b"", *, through: Any = None
) -> None:
    """Send the request; whatever governed handler ran, its rule has an entry of this very request."""
    built, reached = site
    reached.clear()
    before = await built.negotiator.store.read(lambda reader: reader.ledger.size())
    server = Server(body(content))
    await (through or built.app)(scope, server.receive, server.send)
    assert server.status is not None
    lines = await built.negotiator.store.read(lambda reader: list(reader.ledger.lines(start=before)))
    labels = {entry["request"]["route"] for entry in map(orjson.loads, lines) if entry.get("decision") == "allow"}
    for method, path in reached:
        if method == GOVERNED[path]:
            shown = scope["method"], scope["raw_path"], scope["root_path"]
            assert f"{method} {path}" in labels, f"{shown} reached {method} {path} and left {sorted(labels)}"


def _all_spellings() -> list[tuple[str, str]]:
    return [(GOVERNED[path], spelling) for path in PATHS for spelling in dict.fromkeys(_spellings(PLACES[path]))]


async def test_honest_requests_reach_their_handlers_and_leave_their_entries(site):
    built, reached = site
    for path, method in GOVERNED.items():
        await check(site, scope_of(method, PLACES[path]))
        assert reached == [(method, path)]
        [entry] = built.entries("intent")[-1:]
        assert (entry["request"]["route"], entry["policies"]) == (f"{method} {path}", ["undeclared-pass"])


async def test_no_spelling_of_a_path_reaches_a_handler_past_its_rule(site):
    for method, spelling in _all_spellings():
        await check(site, scope_of(method, spelling))


@pytest.mark.parametrize("root_path", ["/app", "/app/", "/a%70p"])
async def test_nor_below_a_root_path(site, root_path):
    for method, spelling in _all_spellings():
        await check(site, scope_of(method, f"{root_path}{spelling}", root_path=root_path))


@pytest.mark.parametrize("root_path", ["/app", "/app/"])
async def test_nor_where_the_root_path_is_only_half_there(site, root_path):
    for path, method in GOVERNED.items():
        place = PLACES[path]
        for target in (place, f"/app{place[1:]}", f"/APP{place}", f"/app/app{place}", f"//app{place}", f"/ap{place}"):
            await check(site, scope_of(method, target, root_path=root_path))


async def test_nor_below_a_mount(site):
    outer = Starlette(routes=[Mount("/app", app=site[0].app)])
    for method, spelling in _all_spellings():
        await check(site, scope_of(method, f"/app{spelling}"), through=outer)


@pytest.mark.parametrize("method", METHODS)
async def test_no_other_method_reaches_the_governed_one(site, method):
    for path, governed in GOVERNED.items():
        place = PLACES[path]
        named = governed.encode()
        for header in (b"x-http-method-override", b"X-HTTP-Method-Override", b"x-http-method", b"x-method-override"):
            await check(site, scope_of(method, place, (header, named)))
            await check(site, scope_of(method, f"/{place}", (header, named.lower())))
        for query in (f"_method={governed}", f"a=1&%5Fmethod={governed}", f"_METHOD={governed}&_method={governed}"):
            await check(site, scope_of(method, f"{place}?{query}"))
            await check(site, scope_of(method, place, FORM), query.encode())
        await check(site, scope_of(method, place))
