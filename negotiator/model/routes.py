"""Route rules: which requests of the site are governed, and as what. Configuration makes them, `web/` matches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from negotiator.model.actions import HELD_ACTION, READ_ACTIONS
from negotiator.model.facts import ResourceFacts

__all__ = [
    "CacheRule",
    "RouteRule",
    "UndeclaredRule",
    "UnmatchedRules",
    "UnmatchedSafe",
    "UnmatchedUnsafe",
    "WebSocketRule",
]

UndeclaredRule = Literal["limited", "deny", "human_only", "pass"]
CacheRule = Literal["private", "site"]
Mode = Literal["enforce", "shadow"]
WebSocketRule = Literal["deny", "connect"]
UnmatchedSafe = Literal["pass", "govern"]
UnmatchedUnsafe = Literal["deny_agents", "deny_unknown", "govern", "pass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRule:
    """One `[[routes]]` table.

    Attributes:
        methods: upper-case methods; empty means any. A rule for GET also governs HEAD.
        path: Starlette path syntax, e.g. `/comments/{id:int}`.
        action: one of the agents' actions.
        resource: what the action is upon.
        undeclared: what happens without a valid negotiation.
        stream_body: decide on headers only and let the body flow.
        max_body_bytes: larger bodies are 413.
        cache: `site` leaves the site's own `Cache-Control` on allowed answers.
        publish: name this route in discovery documents.
        mode: `shadow` decides and records, and lets the site have what was denied.
        websocket: `connect` decides a socket before it is accepted; `deny` opens none.
        auto_request: a refusal for want of consent files the consent request itself.
        bind_headers: lower-case names of request headers that consents are bound to.
    """

    methods: frozenset[str]
    path: str
    action: str
    resource: ResourceFacts
    undeclared: UndeclaredRule
    stream_body: bool = False
    max_body_bytes: int = 1_048_576
    cache: CacheRule = "private"
    publish: bool = False
    websocket: WebSocketRule = "deny"
    mode: Mode = "enforce"
    auto_request: bool = False
    bind_headers: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The rule as it is written in the configuration, e.g. `POST /comments`."""
        return f"{','.join(sorted(self.methods)) or '*'} {self.path}"

    @property
    def reads(self) -> bool:
        """Whether its action is in the group `read`: no effect, so no intent."""
        return self.action in READ_ACTIONS

    @property
    def binds(self) -> bool:
        """Whether a denial keeps the request from the site. Memory is never written unreviewed, in whatever mode."""
        return self.mode == "enforce" or self.action == HELD_ACTION

    @property
    def holds(self) -> bool:
        """Whether an allowed request is held as a proposal instead of reaching the site."""
        return self.action == HELD_ACTION


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmatchedRules:
    """What happens to requests that no rule matches."""

    safe: UnmatchedSafe = "pass"
    unsafe: UnmatchedUnsafe = "deny_agents"
