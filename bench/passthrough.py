"""What the middleware costs a request that no rule governs: a site of 50 routes, of which 10 are governed.

`passthrough_inprocess`   time of the site behind the middleware over the bare site's, without a loop's overhead
`passthrough_vs_basehttp` time that the middleware adds over the time that an empty `BaseHTTPMiddleware` adds
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench.measure import Row, ratio
from negotiator.model.facts import ResourceFacts
from negotiator.model.routes import RouteRule, UnmatchedRules
from negotiator.web.middleware import NegotiatorMiddleware

_ROUTES = 50
_GOVERNED = 10
_HEADERS = [
    (b"host", b"127.0.0.1:8000"),
    (b"user-agent", b"Mozilla/5.0"),
    (b"accept", b"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"),
    (b"accept-language", b"en"),
    (b"accept-encoding", b"gzip, br"),
    (b"cookie", b"session=0123456789abcdef"),
    (b"sec-fetch-site", b"none"),
    (b"connection", b"keep-alive"),
]


class _Gateway:
    """A negotiator that is never asked: the measured request has no rule."""

    routes = tuple(
        RouteRule(
            methods=frozenset({"POST"}),
            path=f"/governed/{number}/{{id}}",
            action="post",
            resource=ResourceFacts(name=f"r{number}"),
            undeclared="deny",
        )
        for number in range(_GOVERNED)
    )
    unmatched = UnmatchedRules()
    prefix = "/uaix/v1"
    own_paths = ("/.well-known/uaix.json",)
    human_authenticator = None
    public_url = None
    allowed_hosts: Sequence[str] = ()

    @property
    def api(self) -> ASGIApp:
        raise NotImplementedError

    @property
    def enforcement(self) -> Any:  # noqa: ANN401 - never asked
        raise NotImplementedError

    async def startup(self) -> None:
        """Nothing to make ready."""

    async def shutdown(self) -> None:
        """Nothing to let go."""


class _Empty(BaseHTTPMiddleware):
    """The usual way to write a middleware, doing nothing."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await call_next(request)


def rows() -> list[Row]:
    """Measure both rows."""
    bare = _site()
    ours = NegotiatorMiddleware(_site(), negotiator=_Gateway())
    inprocess = ratio(_stepped(ours), _stepped(bare), strides=25, calls=400)
    loop = asyncio.new_event_loop()
    try:
        usual = ratio(_on_loop(loop, _Empty(_site())), _on_loop(loop, bare), strides=15, calls=100)
    finally:
        loop.close()
    added_by_usual = usual.subject_seconds - usual.baseline_seconds
    added = (inprocess.ratio - 1) * inprocess.baseline_seconds
    share = added / added_by_usual
    noise = inprocess.noise * inprocess.baseline_seconds / added_by_usual
    compared = Row(
        name="passthrough_vs_basehttp",
        ratio=round(share, 4),
        bound=0.025,
        better="lower",
        ok=share <= 0.025 + noise,
        control=round((inprocess.control - 1) * inprocess.baseline_seconds / added_by_usual, 4),
    )
    return [inprocess.row("passthrough_inprocess", bound=1.25), compared]


def _site() -> ASGIApp:
    async def page(_request: Request) -> Response:
        return PlainTextResponse("hello")

    plain = [Route(f"/plain/{number}/{{id}}", page) for number in range(_ROUTES - _GOVERNED)]
    governed = [Route(rule.path, page, methods=["POST"]) for rule in _Gateway.routes]
    return Starlette(routes=[*plain, *governed])


def _request() -> Scope:
    """Return a fresh scope with fresh strings, as a server makes it."""
    path = b"/plain/20/seven".decode()
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": list(_HEADERS),
        "client": ("192.0.2.7", 50000),
        "server": ("127.0.0.1", 8000),
    }


async def _receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send(message: Message) -> None:
    """Take the answer."""


def _stepped(app: ASGIApp) -> Callable[[], object]:
    """Run a call to its end by hand: none of these applications waits for anything."""

    def call() -> None:
        try:
            _coroutine(app).send(None)
        except StopIteration:
            return
        message = "the application waits for something; it cannot be measured without a loop"
        raise RuntimeError(message)

    return call


def _on_loop(loop: asyncio.AbstractEventLoop, app: ASGIApp) -> Callable[[], object]:
    return lambda: loop.run_until_complete(_coroutine(app))


async def _call(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


def _coroutine(app: ASGIApp) -> Coroutine[Any, Any, None]:
    return _call(app, _request(), _receive, _send)


if __name__ == "__main__":
    for row in rows():
        print(row)
