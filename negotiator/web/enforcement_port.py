"""What the middleware needs from the rest of the house, as Protocols. Services and `assembly` implement them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeAlias

from starlette.types import ASGIApp, Scope

from negotiator.model.governed import GovernedRequest, Outcome, Standing, Verdict
from negotiator.model.people import HumanClaim
from negotiator.model.routes import RouteRule, UnmatchedRules
from negotiator.ports import Meter

__all__ = ["Enforcement", "Gateway", "HumanAuthenticator", "Standings"]

HumanAuthenticator: TypeAlias = Callable[[Scope], "Awaitable[HumanClaim | str | None] | HumanClaim | str | None"]
"""The site's hook: who is signed in (`ports.HumanAuthenticator`), or only that person's id, or None. It may be a
coroutine function."""


class Enforcement(Protocol):
    """Decides, and records before it answers."""

    async def decide(self, request: GovernedRequest) -> Verdict:
        """Record the decision, then return it.

        Raises:
            UnavailableError: it could not be made durable; the site is not called.
        """
        ...

    async def refuse(self, request: GovernedRequest, *, code: str, detail: str) -> Verdict:
        """Record a refusal made before the policies were asked (malformed header, ambiguous path, too large …).

        Raises:
            UnavailableError: as in `decide`.
        """
        ...

    async def finish(self, verdict: Verdict, outcome: Outcome) -> None:
        """Record how the effect that `verdict` allowed has ended.

        Raises:
            UnavailableError: the outcome is not known to be durable.
        """
        ...


class Standings(Protocol):
    """Says whether what open exchanges stand on still holds."""

    async def lost(self, held: Collection[Standing]) -> Mapping[Standing, str]:
        """Return those that no longer hold, each with the problem code of what a request would now be answered.

        Raises:
            UnavailableError: it cannot be known now.
        """
        ...


class Gateway(Protocol):
    """The assembled `Negotiator`, as the middleware sees it.

    The constructor of the middleware reads the settings once; `api` and `enforcement` are asked for at each use, so
    that nothing has to be open before the first request.
    """

    @property
    def routes(self) -> Sequence[RouteRule]:
        """The rules in configuration order, specific before general."""
        ...

    @property
    def unmatched(self) -> UnmatchedRules:
        """What happens without a rule."""
        ...

    @property
    def prefix(self) -> str:
        """Where our own routes live, e.g. `/uaix/v1`."""
        ...

    @property
    def own_paths(self) -> Collection[str]:
        """Further exact paths that are ours (`/.well-known/uaix.json` …)."""
        ...

    @property
    def api(self) -> ASGIApp:
        """Answers our own paths."""
        ...

    @property
    def enforcement(self) -> Enforcement:
        """Decides and records."""
        ...

    @property
    def standings(self) -> Standings:
        """Asked about open sockets and streams."""
        ...

    @property
    def standing_check_seconds(self) -> float:
        """How long open sockets and streams go unasked about."""
        ...

    @property
    def meter(self) -> Meter:
        """Told of clients that leave."""
        ...

    @property
    def human_authenticator(self) -> HumanAuthenticator | None:
        """The site's hook; without it nobody is `human`."""
        ...

    @property
    def public_url(self) -> str | None:
        """The site's origin, e.g. `https://example.org`; None means loopback only, and links are relative."""
        ...

    def ticket_url(self, request_id: str) -> str:
        """Return where a person finds a consent request; the address gives no authority."""
        ...

    @property
    def allowed_hosts(self) -> Sequence[str]:
        """The authorities that are served; empty means loopback names only."""
        ...

    @property
    def trusted_proxies(self) -> Sequence[str]:
        """Networks of the proxies whose `X-Forwarded-For` is believed."""
        ...

    def admit_stranger(self, source: str) -> None:
        """Take a stranger's declaration or validation into the budget of its source.

        Raises:
            UnavailableError: `over_budget` or `room_low`.
        """
        ...

    async def startup(self) -> None:
        """Make ready; raises if serving would be unsafe. May never be called: a server may send no lifespan."""
        ...

    async def shutdown(self) -> None:
        """Write what is queued and let go."""
        ...
