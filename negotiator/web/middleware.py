"""The policy enforcement point: pure ASGI middleware in front of a site.

What happens to a request:

    `/llms.txt`             as below; where the site answers 404, our API answers instead (`missing`)
    our own paths           the host is checked, strangers pay at the door (`door`), then our API answers
    no rule, safe           to the site, untouched but for our credentials, which are removed
    no rule, unsafe         by `unmatched.unsafe`: agents, or all but people, are refused; or it is decided
    a rule                  read, decided, recorded; then the site, a refusal or a proposal (`governed`)
    a rule, maybe           400 `ambiguous_path`
    WebSocket with a rule   decided or refused before accept (`sockets`)
    lifespan                ours around the site's (`lifespan`)

Rules:

- Works without lifespan, before a fork, mounted and below a `root_path`. The constructor compiles the rules and
  starts nothing.
- Nothing of a request is kept here: state lives in locals.
- A request that passes costs one table look-up and one walk over its header names.

It does not decide: `Enforcement` does.
"""

from __future__ import annotations

from contextlib import closing
from typing import assert_never

from starlette.types import ASGIApp, Receive, Scope, Send

from negotiator.errors import RequestError
from negotiator.model.routes import RouteRule
from negotiator.web.body import ClientLeft, WholeBody, read_whole
from negotiator.web.callers import Callers, is_agent
from negotiator.web.door import Door
from negotiator.web.enforcement_port import Gateway
from negotiator.web.exchange import GivenBody, OutcomeTasks, SiteCalls
from negotiator.web.framing import (
    check_host,
    check_lengths,
    check_override,
    declared_length,
    is_form,
    override_pattern,
    refuse_override,
)
from negotiator.web.governed import Governed
from negotiator.web.headers import header_lines, site_scope
from negotiator.web.lifespan import Lifespan
from negotiator.web.live import LiveExchanges
from negotiator.web.missing import instead_of_missing, may_be_missing
from negotiator.web.problems import ProblemPages, send_early
from negotiator.web.routing import (
    PASS,
    Ambiguous,
    Beside,
    Found,
    Governs,
    Own,
    Passes,
    RouteTable,
    Unmatched,
)
from negotiator.web.sockets import SocketCalls
from negotiator.web.sources import Sources, source_of

__all__ = ["NegotiatorMiddleware"]

_NO_RULE = "no rule of this site lets agents do this here"


class NegotiatorMiddleware:
    """Puts a negotiator in front of an ASGI application.

    Args:
        app: the site.
        negotiator: the assembled `Negotiator`.
    """

    def __init__(self, app: ASGIApp, *, negotiator: Gateway) -> None:
        self._app = app
        self._gateway = negotiator
        self._deny_unknown = negotiator.unmatched.unsafe == "deny_unknown"
        self._hosts = tuple(negotiator.allowed_hosts)
        self._outcomes = OutcomeTasks()
        self._problems = ProblemPages(
            prefix=negotiator.prefix, public_url=negotiator.public_url, ticket_url=negotiator.ticket_url
        )
        self._sources = Sources(negotiator.trusted_proxies)
        self._door = Door(prefix=negotiator.prefix, admit=negotiator.admit_stranger, problems=self._problems)
        self._callers = Callers(negotiator.human_authenticator, negotiator.public_url)
        self._live = live = LiveExchanges(negotiator)
        site = SiteCalls(app, self._problems, self._outcomes, live)
        sockets = SocketCalls(app, site, self._outcomes, live)
        self._governed = Governed(
            negotiator,
            callers=self._callers,
            sources=self._sources,
            site=site,
            sockets=sockets,
            problems=self._problems,
        )
        self._routes = RouteTable(
            negotiator.routes, negotiator.unmatched, prefix=negotiator.prefix, own_paths=negotiator.own_paths
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI scope."""
        kind = scope["type"]
        if kind == "http":
            if may_be_missing(scope):
                send = instead_of_missing(self._own, scope, receive, send)
            found = self._routes.find(scope)
            if found is PASS:
                await self._app(site_scope(scope), receive, send)
            else:
                await self._http(found, scope, receive, send)
        elif kind == "websocket":
            await self._websocket(self._routes.find_websocket(scope), scope, receive, send)
        elif kind == "lifespan":
            await Lifespan(self._app, self._gateway.startup, self._stop)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _stop(self) -> None:
        await self._outcomes.drained()
        await self._gateway.shutdown()

    async def _http(self, found: Found, scope: Scope, receive: Receive, send: Send) -> None:
        match found:
            case Own():
                await self._own(scope, receive, send)
            case Governs() | Ambiguous():
                await self._governed.http(found, scope, receive, send)
            case Unmatched(rule, neighbour):
                if await self._is_refused(scope):
                    await self._refuse_unmatched(rule, scope, receive, send)
                elif neighbour is not None:
                    await self._beside(neighbour, scope, receive, send)
                else:
                    await self._app(site_scope(scope), receive, send)
            case Beside(neighbour):
                await self._beside(neighbour, scope, receive, send)
            case Passes():
                await self._app(site_scope(scope), receive, send)
            case _:
                assert_never(found)

    async def _websocket(self, found: Found, scope: Scope, receive: Receive, send: Send) -> None:
        match found:
            case Own():
                await self._own(scope, receive, send)
            case Governs() | Ambiguous():
                await self._governed.socket(found, scope, receive, send)
            case Unmatched(rule) if await self._is_refused(scope):
                await self._refuse_unmatched(rule, scope, receive, send)
            case Unmatched() | Beside() | Passes():
                await self._app(site_scope(scope), receive, send)
            case _:
                assert_never(found)

    async def _own(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_host(scope, self._hosts)
        except RequestError as error:
            await send_early(self._problems.error(scope, error), scope, receive, send)
            return
        seen = self._sources.told(scope)
        if refusal := self._door.refusal(seen, source_of(seen)):
            await refusal(scope, receive, send)
            return
        await self._gateway.api(seen, receive, send)

    async def _is_refused(self, scope: Scope) -> bool:
        """Whether `unmatched.unsafe` refuses this caller."""
        if not self._deny_unknown:
            return is_agent(scope)
        caller, _ = await self._callers.classify(scope)
        return caller != "human"

    async def _refuse_unmatched(self, rule: RouteRule, scope: Scope, receive: Receive, send: Send) -> None:
        await self._governed.refuse(rule, scope, receive, send, code="route_not_governed", detail=_NO_RULE)

    async def _beside(self, neighbour: RouteRule, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the site answer, unless the request reaches for a governed method of the same path."""
        try:
            form = await _checked_form(neighbour, scope, receive)
        except ClientLeft:
            self._gateway.meter.abandoned()
            return
        except RequestError as error:
            refusal = {"code": error.code, "detail": error.message}
            await self._governed.refuse(neighbour, scope, receive, send, **refusal)
            return
        if form is None:
            await self._app(site_scope(scope), receive, send)
            return
        with closing(form):
            await self._app(site_scope(scope), GivenBody(form, afterwards=receive).receive, send)


async def _checked_form(neighbour: RouteRule, scope: Scope, receive: Receive) -> WholeBody | None:
    """Return the form of a request that holds no method override; None for other bodies, which flow.

    Raises:
        RequestError: `method_override`, `body_too_large`, `body_malformed`, `header_malformed`.
        ClientLeft: the client left.
    """
    check_override(scope)
    patterns = [
        override_pattern(line.decode("latin-1")) for line in header_lines(scope, b"content-type") if is_form(line)
    ]
    if not patterns:
        return None
    check_lengths(scope)
    form = await read_whole(receive, limit=neighbour.max_body_bytes, announced=declared_length(scope))
    if any(pattern is not None and form.contains(pattern) for pattern in patterns):
        form.close()
        refuse_override()
    return form
