"""Governed requests and refusals: from a scope to a recorded verdict, and from the verdict to an answer.

Steps, each of which may refuse:

1. credentials, then host, path, framing, then the other claims: what is wrong is recorded as a refusal;
2. the body, read whole outside the group read and where it does not flow;
3. the decision, which is recorded before it is given;
4. the site is called, the refusal is answered, the proposal is answered with 202, or a stored answer is given again.

A client that leaves while its body is read: nothing was decided, nothing is recorded. What cannot be recorded is 503,
and the site is not called.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from negotiator.canonical import MAX_BODY_BYTES
from negotiator.errors import NegotiatorError, RequestError
from negotiator.model.governed import CallerClass, GovernedRequest, Presented, Refusal, Verdict
from negotiator.model.routes import RouteRule
from negotiator.web.body import ClientLeft, WholeBody, read_whole, too_large
from negotiator.web.callers import Callers
from negotiator.web.enforcement_port import Gateway
from negotiator.web.exchange import Admitted, SiteCalls
from negotiator.web.framing import (
    check_host,
    check_lengths,
    check_override,
    check_write,
    declared_length,
    is_form,
    override_pattern,
    refuse_override,
)
from negotiator.web.headers import answer_headers, header_lines, single_header
from negotiator.web.kept import replayed
from negotiator.web.presented import parse_claims, parse_credentials
from negotiator.web.problems import ProblemPages, send_early
from negotiator.web.routing import Ambiguous, Governs
from negotiator.web.sockets import SocketCalls
from negotiator.web.sources import Sources

__all__ = ["Governed"]

_AMBIGUOUS = "the path can be read in more than one way; send it in its plain form"
_CONDITIONS = frozenset(
    {
        b"content-encoding",
        b"if-match",
        b"if-modified-since",
        b"if-none-match",
        b"if-range",
        b"if-unmodified-since",
        b"range",
    }
)
"""Headers that make another request of the same method, target, type and body."""

_NO_SOCKETS = "sockets are not open on this path; use the HTTP routes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examined:
    """A request, read as far as its decision needs. `error` is what keeps it from being decided."""

    request: GovernedRequest
    body: WholeBody | None
    error: RequestError | None


class Governed:
    """Enforces verdicts on one site.

    Args:
        gateway: for its enforcement and hosts.
        callers: classifies callers.
        sources: tells where requests come from.
        site: calls the site.
        sockets: opens sockets.
        problems: words refusals.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        callers: Callers,
        sources: Sources,
        site: SiteCalls,
        sockets: SocketCalls,
        problems: ProblemPages,
    ) -> None:
        self._gateway = gateway
        self._callers = callers
        self._sources = sources
        self._site = site
        self._sockets = sockets
        self._problems = problems
        self._hosts = tuple(gateway.allowed_hosts)

    async def http(self, found: Governs | Ambiguous, scope: Scope, receive: Receive, send: Send) -> None:
        """Decide an HTTP request under its rule and do what the verdict says."""
        try:
            examined = await self._examine(found, scope, receive)
        except ClientLeft:
            self._gateway.meter.abandoned()
            return
        try:
            await self._enforce(examined, scope, receive, send)
        finally:
            if examined.body is not None:
                examined.body.close()

    async def refuse(
        self, rule: RouteRule, scope: Scope, receive: Receive, send: Send, *, code: str, detail: str
    ) -> None:
        """Record and answer a refusal that needs no policy; of an HTTP request or, before accept, of a WebSocket."""
        caller, person = await self._callers.classify(scope)
        presented = _presented_or_nothing(scope)
        request = _request(rule, scope, presented, caller, person, source=self._sources.of(scope))
        try:
            verdict = await self._gateway.enforcement.refuse(request, code=code, detail=detail)
        except NegotiatorError as error:
            answer = self._problems.error(scope, error, trace_id=presented.trace_id)
        else:
            answer = self._refused(scope, request, verdict)
        await send_early(answer, scope, receive, send)

    async def socket(self, found: Governs | Ambiguous, scope: Scope, receive: Receive, send: Send) -> None:
        """Decide a WebSocket before it is accepted, where its rule opens any, and do what the verdict says."""
        if isinstance(found, Governs) and found.rule.websocket == "deny":
            await self.refuse(found.rule, scope, receive, send, code="refused", detail=_NO_SOCKETS)
            return
        examined = await self._examine(found, scope, _no_body)
        request = examined.request
        if examined.body is not None:
            examined.body.close()
        try:
            verdict = await self._verdict(examined)
        except NegotiatorError as error:
            answer = self._problems.error(scope, error, trace_id=request.presented.trace_id)
            await send_early(answer, scope, receive, send)
            return
        if verdict.kind == "proceed":
            admitted = Admitted(scope=scope, request=request, verdict=verdict, body=None)
            await self._sockets.call(admitted, self._gateway.enforcement, receive, send)
        else:
            await send_early(self._refused(scope, request, verdict), scope, receive, send)

    async def _enforce(self, examined: _Examined, scope: Scope, receive: Receive, send: Send) -> None:
        request = examined.request
        try:
            verdict = await self._verdict(examined)
        except NegotiatorError as error:
            await self._problems.error(scope, error, trace_id=request.presented.trace_id)(scope, receive, send)
            return
        match verdict.kind:
            case "proceed":
                admitted = Admitted(scope=scope, request=request, verdict=verdict, body=examined.body)
                await self._site.call(admitted, self._gateway.enforcement, receive, send)
            case "refuse":
                await self._refused(scope, request, verdict)(scope, receive, send)
            case "hold":
                await self._held(scope, verdict)(scope, receive, send)
            case "replay":
                await self._again(scope, verdict)(scope, receive, send)
            case _:
                assert_never(verdict.kind)

    async def _verdict(self, examined: _Examined) -> Verdict:
        enforcement, error = self._gateway.enforcement, examined.error
        if error is not None:
            return await enforcement.refuse(examined.request, code=error.code, detail=error.message)
        return await enforcement.decide(examined.request)

    async def _examine(self, found: Governs | Ambiguous, scope: Scope, receive: Receive) -> _Examined:
        """Read what the decision needs.

        Raises:
            ClientLeft: the client left while its body was read.
        """
        rule = found.rule
        caller, person = await self._callers.classify(scope)
        presented, body, problem = Presented(), None, None
        try:
            presented = parse_credentials(scope, own_route=False)
            self._check(found, scope)
            presented = parse_claims(scope, presented)
            body = await _read_body(rule, scope, receive)
        except RequestError as error:
            problem = error
        content = await body.content() if body is not None and _is_kept(body, rule, presented) else b""
        source = self._sources.of(scope)
        request = _request(rule, scope, presented, caller, person, source=source, body=body, content=content)
        return _Examined(request=request, body=body, error=problem)

    def _check(self, found: Governs | Ambiguous, scope: Scope) -> None:
        check_host(scope, self._hosts)
        if isinstance(found, Ambiguous):
            raise RequestError(_AMBIGUOUS, code="ambiguous_path")
        check_lengths(scope)
        check_override(scope)
        if not found.rule.reads:
            check_write(scope)
        if scope["type"] == "websocket" and (declared_length(scope) or header_lines(scope, b"transfer-encoding")):
            message = "a handshake takes no body"
            raise RequestError(message, code="body_malformed")

    def _refused(self, scope: Scope, request: GovernedRequest, verdict: Verdict) -> Response:
        refusal = verdict.refusal or Refusal(code="refused", detail="not allowed here", decision_id=verdict.decision_id)
        trace_id = request.presented.trace_id
        return self._problems.refusal(scope, refusal, trace_id=trace_id, headers=_own_headers(verdict))

    def _again(self, scope: Scope, verdict: Verdict) -> Response:
        assert verdict.answer is not None  # noqa: S101 - that is what a replay is
        return replayed(verdict, verdict.answer, method=scope["method"].upper())

    def _held(self, scope: Scope, verdict: Verdict) -> Response:
        """Answer an allowed memory write: it waits for a human."""
        status_url = self._problems.address(scope, f"/memory/proposals/{verdict.proposal_id}")
        content = {
            "proposal_id": verdict.proposal_id,
            "state": "pending",
            "decision_id": verdict.decision_id,
            "status_url": status_url,
        }
        headers = {"Location": status_url, "Cache-Control": "no-store", **_own_headers(verdict)}
        return Response(json.dumps(content), status_code=202, media_type="application/json", headers=headers)


def _own_headers(verdict: Verdict) -> dict[str, str]:
    return {name.decode(): value.decode("latin-1") for name, value in answer_headers(verdict)}


async def _read_body(rule: RouteRule, scope: Scope, receive: Receive) -> WholeBody | None:
    """Return the body, read whole; None where it flows. A form never flows: it may name another method.

    Raises:
        RequestError: `body_too_large`, `body_malformed`, `method_override`.
        ClientLeft: the client left.
    """
    announced = declared_length(scope)
    if (rule.reads or rule.stream_body) and not any(map(is_form, header_lines(scope, b"content-type"))):
        if announced is not None and announced > rule.max_body_bytes:
            raise too_large(rule.max_body_bytes)
        return None
    body = await read_whole(receive, limit=rule.max_body_bytes, announced=announced)
    pattern = override_pattern(single_header(scope, b"content-type") or "")
    if pattern is not None and body.contains(pattern):
        body.close()
        refuse_override()
    return body


def _is_kept(body: WholeBody, rule: RouteRule, presented: Presented) -> bool:
    """Whether the bytes go with the request: small ones, all of a proposal's, and what a human has consented to."""
    return body.in_memory or rule.holds or bool(presented.consent and body.size <= MAX_BODY_BYTES)


def _request(
    rule: RouteRule,
    scope: Scope,
    presented: Presented,
    caller: CallerClass,
    person: str,
    *,
    source: str,
    body: WholeBody | None = None,
    content: bytes = b"",
) -> GovernedRequest:
    types = [value for name, value in scope["headers"] if name.lower() == b"content-type"]
    return GovernedRequest(
        method=scope.get("method", "GET").upper(),
        target=_target(scope),
        rule=rule,
        presented=presented,
        caller_class=caller,
        person=person,
        source=source,
        content_type=types[0].decode("latin-1") if types else "",
        body=content,
        body_sha256=body.sha256 if body else "",
        body_bytes=body.size if body else 0,
        socket=scope["type"] == "websocket",
        conditions=tuple(
            (name.lower().decode("latin-1"), value.decode("latin-1"))
            for name, value in scope["headers"]
            if name.lower() in _CONDITIONS
        ),
        authority=b",".join(header_lines(scope, b"host")).decode("latin-1").strip().lower(),
        content_encoding=_content_encoding(scope),
        bound_headers={name: _joined(scope, name) for name in rule.bind_headers},
    )


def _content_encoding(scope: Scope) -> str:
    """Return the body's content coding; empty where it has none (RFC 9110 section 8.4)."""
    coding = _joined(scope, "content-encoding").lower()
    return "" if coding == "identity" else coding


def _joined(scope: Scope, name: str) -> str:
    lines = header_lines(scope, name.encode("latin-1"))
    return ", ".join(line.decode("latin-1").strip() for line in lines)


def _target(scope: Scope) -> str:
    raw = scope.get("raw_path")
    path = quote(scope["path"]) if raw is None else raw.decode("latin-1")
    query = scope.get("query_string", b"")
    return f"{path}?{query.decode('latin-1')}" if query else path


async def _no_body() -> Message:
    """Stand in for `receive` where the request is a handshake: it has no body."""
    return {"type": "http.request", "body": b"", "more_body": False}


def _presented_or_nothing(scope: Scope) -> Presented:
    """Return the well-formed claims of a request that is refused whatever they are."""
    try:
        return parse_claims(scope, parse_credentials(scope, own_route=False))
    except RequestError:
        return Presented()
