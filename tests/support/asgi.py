"""A server, a site and an enforcement for the ASGI tests: each follows its script and writes down what it saw."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from negotiator.errors import UnavailableError
from negotiator.model.facts import ResourceFacts
from negotiator.model.governed import GovernedRequest, Outcome, Refusal, Standing, Verdict
from negotiator.model.levels import Level
from negotiator.model.routes import RouteRule, UnmatchedRules
from negotiator.ports import Unmetered
from negotiator.web.enforcement_port import HumanAuthenticator
from negotiator.web.middleware import NegotiatorMiddleware

DECISION_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
PROPOSAL_ID = "01890a5d-ac96-774b-bcce-b302099a8058"
PREFIX = "/uaix/v1"
HOST = (b"host", b"127.0.0.1:8000")
FULL_DISK = UnavailableError("the disk is full", code="ledger_unavailable", retry_after_seconds=7)

Site = Callable[[Scope, Receive, Send], Awaitable[None]]
Step = Message | BaseException | Callable[[], Awaitable[Message]]


def rule(match: str, action: str = "post", resource: str = "comments", **options: Any) -> RouteRule:
    method, _, path = match.partition(" ")
    methods = frozenset() if method == "*" else frozenset({method})
    options.setdefault("undeclared", "deny")
    return RouteRule(methods=methods, path=path, action=action, resource=ResourceFacts(name=resource), **options)


WRITE = rule("POST /comments")
READ = rule("GET /pages/{slug}", "read_static", "pages", undeclared="limited")


@dataclass
class ScriptedEnforcement:
    """An enforcement that answers `verdict` and keeps what it was asked; `decided` and `outcomes` are its ledger."""

    verdict: Verdict = field(
        default_factory=lambda: Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L3, intent_open=True)
    )
    decide_error: Exception | None = None
    finish_error: Exception | None = None
    decided: list[GovernedRequest] = field(default_factory=list)
    refused: list[tuple[GovernedRequest, str, str]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    finishing: asyncio.Event = field(default_factory=asyncio.Event)
    may_finish: asyncio.Event | None = None

    async def decide(self, request: GovernedRequest) -> Verdict:
        if self.decide_error is not None:
            raise self.decide_error
        self.decided.append(request)
        return self.verdict

    async def refuse(self, request: GovernedRequest, *, code: str, detail: str) -> Verdict:
        if self.decide_error is not None:
            raise self.decide_error
        self.refused.append((request, code, detail))
        refusal = Refusal(code=code, detail=detail, decision_id=DECISION_ID)
        return Verdict(kind="refuse", decision_id=DECISION_ID, refusal=refusal)

    async def finish(self, verdict: Verdict, outcome: Outcome) -> None:
        self.finishing.set()
        if self.may_finish is not None:
            await self.may_finish.wait()
        if self.finish_error is not None:
            raise self.finish_error
        assert verdict is self.verdict
        self.outcomes.append(outcome)


STANDING = Standing(negotiation_id="n-1", credential_id="c-1", max_level=Level.L3)


@dataclass
class ScriptedStandings:
    """Lets everybody stay but those in `codes`, or fails with `error`; it is asked again and again, without a pause."""

    codes: dict[Standing, str] = field(default_factory=dict)
    error: Exception | None = None
    asked: list[set[Standing]] = field(default_factory=list)

    async def lost(self, held: Collection[Standing]) -> Mapping[Standing, str]:
        self.asked.append(set(held))
        if self.error is not None:
            raise self.error
        return {each: self.codes[each] for each in held if each in self.codes}


READING = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L1)


async def own_api(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in the API's place."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-from", b"api")]})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


@dataclass
class CountingMeter(Unmetered):
    """Counts the clients that left."""

    left: int = 0

    def abandoned(self) -> None:
        self.left += 1


@dataclass
class ScriptedGateway:
    """What the middleware gets for a negotiator."""

    routes: Sequence[RouteRule] = (WRITE, READ)
    enforcement: ScriptedEnforcement = field(default_factory=ScriptedEnforcement)
    unmatched: UnmatchedRules = field(default_factory=UnmatchedRules)
    prefix: str = PREFIX
    own_paths: Collection[str] = ("/.well-known/uaix.json",)
    api: ASGIApp = own_api
    human_authenticator: HumanAuthenticator | None = None
    public_url: str | None = None
    allowed_hosts: Sequence[str] = ()
    standings: ScriptedStandings = field(default_factory=ScriptedStandings)
    standing_check_seconds: float = 0.0
    trusted_proxies: Sequence[str] = ()
    strangers: list[str] = field(default_factory=list)
    meter: CountingMeter = field(default_factory=CountingMeter)
    startup_error: Exception | None = None
    life: list[str] = field(default_factory=list)

    def admit_stranger(self, source: str) -> None:
        self.strangers.append(source)

    def ticket_url(self, request_id: str) -> str:
        return f"/consents/{request_id}"

    async def startup(self) -> None:
        self.life.append("startup")
        if self.startup_error is not None:
            raise self.startup_error

    async def shutdown(self) -> None:
        self.life.append("shutdown")


def http_scope(method: str = "POST", target: str = "/comments", *headers: tuple[bytes, bytes], **more: Any) -> Scope:
    """Return a scope as a server makes it; without a `host` among the headers, a loopback one is added."""
    raw, _, query = target.partition("?")
    lines = list(headers) if any(name == b"host" for name, _ in headers) else [HOST, *headers]
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw),
        "raw_path": raw.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": lines,
        "client": ("192.0.2.7", 50000),
        "server": ("127.0.0.1", 8000),
        "extensions": {"tls": {}, "http.response.pathsend": {}, "http.response.trailers": {}},
    }
    return scope | more


def body(content: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


GONE: Message = {"type": "http.disconnect"}


class Server:
    """The server's side of one exchange.

    Its `receive` plays `steps` and then waits for `leave`, as a server does while the client stays; its `send` records
    and, from message `send_fails_at` on, raises as a server whose client has left.
    """

    def __init__(self, *steps: Message, send_fails_at: int | None = None) -> None:
        self._steps = list(steps) or [body()]
        self._left = asyncio.Event()
        self._watched = asyncio.Event()
        self._told = asyncio.Event()
        self._send_fails_at = send_fails_at
        self.sent: list[Message] = []
        self.receiving = 0
        self.on_send: Callable[[Message], None] = lambda _: None

    async def receive(self) -> Message:
        assert self.receiving == 0, "two readers of the server's receive"
        self.receiving += 1
        try:
            if self._steps:
                return self._steps.pop(0)
            self._watched.set()
            await self._left.wait()
            self._told.set()
            return GONE
        finally:
            self.receiving -= 1

    async def send(self, message: Message) -> None:
        if self._send_fails_at is not None and len(self.sent) >= self._send_fails_at:
            message = "the client has left"
            raise OSError(message)
        self.on_send(message)
        self.sent.append(message)

    def leave(self) -> None:
        """Let the client leave."""
        self._left.set()

    async def leave_seen(self) -> None:
        """Let the client leave, and return when whoever watches for it has been told."""
        await self._watched.wait()
        self.leave()
        await self._told.wait()

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    @property
    def complete(self) -> bool:
        return bool(self.sent) and self.sent[-1]["type"].endswith("body") and not self.sent[-1].get("more_body", False)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """Return the one value of an answer's header."""
        values = self.headers(name)
        assert len(values) <= 1, f"{name} stands {len(values)} times"
        return values[0] if values else None

    def headers(self, name: str) -> list[str]:
        return [value.decode() for key, value in self.sent[0]["headers"] if key.decode().lower() == name.lower()]


class RecordingSite:
    """A site that plays `steps`: messages to send, exceptions to raise, or coroutine functions to await."""

    def __init__(self, *steps: Step, read_body: bool = True) -> None:
        self._steps = steps or tuple(answer(b"done"))
        self._read_body = read_body
        self.scopes: list[Scope] = []
        self.received: list[Message] = []
        self.finished = False

    @property
    def calls(self) -> int:
        return len(self.scopes)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.received)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        while self._read_body:
            self.received.append(await receive())
            if not self.received[-1].get("more_body", False):
                break
        for step in self._steps:
            await self._play(step, send)
        self.finished = True

    async def _play(self, step: Step, send: Send) -> None:
        if isinstance(step, BaseException):
            raise step
        message = await step() if callable(step) else step
        if message:
            await send(message)


def start(status: int = 200, *headers: tuple[bytes, bytes]) -> Message:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def chunk(content: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": more}


def length(count: int) -> tuple[bytes, bytes]:
    return (b"content-length", str(count).encode())


def answer(content: bytes, *headers: tuple[bytes, bytes]) -> Iterable[Message]:
    """Return a whole answer with its length."""
    return (start(200, length(len(content)), *headers), chunk(content))


@dataclass
class Front:
    """A middleware in front of a scripted site."""

    site: RecordingSite = field(default_factory=RecordingSite)
    gateway: ScriptedGateway = field(default_factory=ScriptedGateway)

    def __post_init__(self) -> None:
        self.app = NegotiatorMiddleware(self.site, negotiator=self.gateway)

    @property
    def enforcement(self) -> ScriptedEnforcement:
        return self.gateway.enforcement

    async def ask(self, scope: Scope, server: Server | None = None) -> Server:
        """Have one request answered."""
        server = server or Server()
        await self.app(scope, server.receive, server.send)
        return server
