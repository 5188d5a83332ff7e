"""`negotiator routes check` on small sites."""

from __future__ import annotations

from pathlib import Path

import pytest

SITE = """
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Host, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles


async def answer(request): ...


class Both(HTTPEndpoint):
    async def get(self, request): ...

    async def delete(self, request): ...


app = Starlette(
    routes=[
        Route("/", answer),
        Route("/comments", answer, methods=["GET", "POST"]),
        Route("/both/{id:int}", Both),
        Mount("/shop", routes=[Route("/cart/{item}", answer, methods=["PUT"]), Route("/", answer)]),
        Mount("/api", app=Starlette(routes=[Mount("/v1", routes=[Route("/notes", answer, methods=["PATCH"])])])),
        Host("admin.example", Starlette(routes=[Route("/users", answer, methods=["POST"])])),
        WebSocketRoute("/socket", answer),
    ]
)
wrapped = GZipMiddleware(app)


async def bare(scope, receive, send): ...
"""
RULE = '[[routes]]\nmatch = "{match}"\naction = "post"\nresource = "things"\n'


@pytest.fixture
def site(tmp_path: Path) -> str:
    """A module of its own for each test: imported modules stay."""
    name = f"site_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SITE)
    return name


def test_the_demo_site_is_covered(run):
    shown = run("routes", "check")
    assert (shown.status, shown.err) == (0, "")
    assert run("routes", "check", "--json").document == {"ok": True, "uncovered": [], "unfit": []}


@pytest.mark.parametrize("app", ["app", "wrapped"])
def test_every_unsafe_route_without_a_rule_is_found_also_below_mounts(run, site, app):
    shown = run("routes", "check", "--app", f"{site}:{app}", "--json")
    assert shown.status == 1
    assert shown.document["uncovered"] == [
        "POST /comments",
        "DELETE /both/{id:int}",
        "PUT /shop/cart/{item}",
        "PATCH /api/v1/notes",
        "POST /users",
    ]


def test_a_rule_covers_what_it_matches_and_nothing_else(run, site, tmp_path: Path):
    matches = ["POST /comments", "* /both/{number}", "PUT /shop/{rest:path}", "POST /api/v1/notes", "POST /users"]
    (tmp_path / "site.toml").write_text("".join(RULE.format(match=match) for match in matches))
    shown = run("routes", "check", "--config", "site.toml", "--app", f"{site}:app")
    assert shown.status == 1
    assert shown.out == "PATCH /api/v1/notes: no rule covers it; [unmatched] unsafe = deny_agents applies\n"


@pytest.mark.parametrize(
    ("app", "code"),
    [
        ("{site}:bare", "routes_unknown"),
        ("{site}:nothing", "app_not_found"),
        ("{site}", "app_not_found"),
        ("no_such_module_here:app", "app_not_found"),
        ("broken_site:app", "app_not_found"),
        ("{site}:RULES", "app_not_found"),
    ],
)
def test_an_application_that_cannot_be_checked_is_one_line(run, site, tmp_path: Path, app, code):
    (tmp_path / "broken_site.py").write_text("import no_such_library_anywhere\n")
    shown = run("routes", "check", "--app", app.format(site=site))
    assert (shown.status, shown.out, shown.code) == (3, "", code)


def test_something_that_cannot_be_called_is_no_application(run, tmp_path: Path):
    (tmp_path / "numbers_site.py").write_text("app = 5\n")
    shown = run("routes", "check", "--app", "numbers_site:app")
    assert (shown.status, shown.code) == (3, "app_not_found")
    assert "cannot be called" in shown.err


def test_policies_that_cannot_be_loaded_keep_it_from_checking(run, tmp_path: Path):
    (tmp_path / "policies").mkdir()
    (tmp_path / "site.toml").write_text('policies_dir = "policies"\n')
    shown = run("routes", "check", "--config", "site.toml")
    assert (shown.status, shown.code) == (3, "schema_invalid")
