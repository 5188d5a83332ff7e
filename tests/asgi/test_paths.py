"""Whatever reaches a handler of the site was decided under that handler's rule, or the request was refused."""

import asyncio
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, Router

from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.asgi import ScriptedGateway, Server, http_scope, rule

RULES = (
    rule("POST /comments", resource="comments"),
    rule("POST /comments/{id}", resource="comment"),
    rule("POST /files/{path:path}", resource="files"),
    rule("POST /sub/inner", resource="inner"),
    rule("POST /slashed/", resource="slashed"),
)
PIECES = st.sampled_from(
    (  # noqa: SIM905 - as a list it would be one piece a line
        "/ comments Comments files sub inner slashed x 7 .. . // %2F %2f %5C \\ %00 %0A ;a=b"
        " %63 %2563 %252F %2e %252e %20 ? %3F # %EF%BD%83 ~"
    ).split(" ")
)


class Handlers:
    """A Starlette site with one handler for each rule, and one without."""

    def __init__(self):
        self.reached = []
        routes = [self.route(each.path, each.resource.name) for each in RULES if each.resource.name != "inner"]
        mounted = Mount("/sub", app=Router(routes=[self.route("/inner", "inner")]))
        self.app = Starlette(routes=[*routes, mounted, self.route("/free", "free")])

    def route(self, path, name):
        async def handler(_: Request):
            self.reached.append(name)
            return PlainTextResponse(name)

        return Route(path, handler, methods=["POST"])


def drive(scope, root_path=""):
    """Have one request answered, step by step: nothing in it waits."""
    handlers, gateway, server = Handlers(), ScriptedGateway(routes=RULES), Server()
    app = NegotiatorMiddleware(handlers.app, negotiator=gateway)
    return handlers, gateway, server, app(scope, server.receive, server.send)


async def reached_and_decided(scope):
    handlers, gateway, server, answering = drive(scope)
    await answering
    return handlers.reached, [each.rule.resource.name for each in gateway.enforcement.decided], server


def check(target, root_path=""):
    scope = http_scope("POST", target, root_path=root_path)
    reached, decided, server = asyncio.run(reached_and_decided(scope))
    assert server.status is not None
    if reached and reached != ["free"]:
        assert decided == reached, f"{target!r} reached {reached} and was decided as {decided}"


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=7).map(lambda pieces: "/" + "".join(pieces)))
@example("/comments")
@example("/comments/")
@example("/comments%0A")
@example("/slashed")
@example("/files/../comments")
@example("/comments/a%2Fb")
def test_no_spelling_reaches_a_handler_without_its_rule(target):
    check(target)


@settings(max_examples=50, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=5).map(lambda pieces: "/app/" + "".join(pieces)))
def test_nor_below_a_root_path(target):
    check(target, root_path="/app")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/comments", "comments"),
        ("/comments/7", "comment"),
        ("/files/a/b", "files"),
        ("/sub/inner", "inner"),
        ("/slashed/", "slashed"),
        ("/%63omments", "comments"),
    ],
)
async def test_honest_requests_reach_their_handler_once_decided(target, name):
    reached, decided, server = await reached_and_decided(http_scope("POST", target))
    assert (reached, decided, server.status) == ([name], [name], 200)


@pytest.mark.parametrize(
    "target",
    ["/comments%00", "/comments%0A", "//comments", "/x/../comments", "/Comments", "/comments;a=b", "/comments%5C"],
)
async def test_an_ambiguous_path_is_refused_recorded_and_never_reaches_the_site(target):
    handlers, gateway, server, answering = drive(http_scope("POST", target))
    await answering
    assert (handlers.reached, gateway.enforcement.decided) == ([], [])
    assert [code for _, code, _ in gateway.enforcement.refused] == ["ambiguous_path"]
    assert (server.status, server.json["code"]) == (400, "ambiguous_path")
    assert unquote(target).encode() not in server.body


async def test_mounted_below_another_application_the_rule_is_relative_to_the_mount():
    handlers, gateway, server = Handlers(), ScriptedGateway(routes=RULES), Server()
    outer = Starlette(routes=[Mount("/app", app=NegotiatorMiddleware(handlers.app, negotiator=gateway))])
    await outer(http_scope("POST", "/app/comments"), server.receive, server.send)
    assert handlers.reached == ["comments"]
    assert [each.rule.resource.name for each in gateway.enforcement.decided] == ["comments"]
    assert gateway.enforcement.decided[0].target == "/app/comments"


async def test_as_a_middleware_inside_an_application_it_governs_the_same():
    handlers, gateway, server = Handlers(), ScriptedGateway(routes=RULES), Server()
    handlers.app.add_middleware(NegotiatorMiddleware, negotiator=gateway)
    await handlers.app(http_scope("POST", "/comments"), server.receive, server.send)
    assert (handlers.reached, len(gateway.enforcement.decided)) == (["comments"], 1)
