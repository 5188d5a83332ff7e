"""The class of a caller: `agent`, `human` or `unknown`.

Rules:

- `agent`: any token, signature, agent credential or `UAIX-*` header.
- `human`: the site's `human_authenticator` vouches for a signed-in person, and the browser says that the request comes
  from the site itself: `Sec-Fetch-Site` is `same-origin` or `none` or, only where that header is absent, `Origin`
  equals `public_url`. Without the hook nobody is human.
- `unknown`: everybody else.

We govern clients that identify themselves. We do not detect liars.
"""

from __future__ import annotations

import inspect
import logging
from urllib.parse import urlsplit

from starlette.types import Scope

from negotiator.model.governed import CallerClass
from negotiator.model.people import HumanClaim
from negotiator.web.enforcement_port import HumanAuthenticator
from negotiator.web.headers import AGENT_HEADER_PREFIX, header_lines

__all__ = ["Callers", "is_agent", "origin_of"]

_SIGNATURES = frozenset({b"signature", b"signature-input", b"signature-agent"})
_API_TOKEN = b"bearer uaixt_"
_OWN_SITE = ([b"same-origin"], [b"none"])
_PORTS = {"http": 80, "https": 443}

_log = logging.getLogger(__name__)


def is_agent(scope: Scope) -> bool:
    """Whether the request identifies its sender as an agent."""
    return any(_is_agents(name.lower(), value) for name, value in scope["headers"])


def _is_agents(name: bytes, value: bytes) -> bool:
    if name == b"authorization":
        return value.lower().startswith(_API_TOKEN)
    return name.startswith(AGENT_HEADER_PREFIX) or name in _SIGNATURES


def origin_of(url: str) -> str:
    """Return the origin of a URL as browsers write it: lower case, without its scheme's own port."""
    parts = urlsplit(url)
    port = parts.port
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    shown = "" if port is None or port == _PORTS.get(parts.scheme) else f":{port}"
    return f"{parts.scheme}://{host}{shown}"


class Callers:
    """Classifies callers.

    Args:
        human_authenticator: the site's hook.
        public_url: the site's own origin; without it `Origin` proves nothing.
    """

    def __init__(self, human_authenticator: HumanAuthenticator | None, public_url: str | None) -> None:
        self._authenticate = human_authenticator
        self._origin = origin_of(public_url).encode("latin-1") if public_url else None

    async def classify(self, scope: Scope) -> tuple[CallerClass, str]:
        """Return the caller's class and, for `human`, the person's id."""
        if is_agent(scope):
            return "agent", ""
        if self._authenticate is None or not self._comes_from_site(scope):
            return "unknown", ""
        person = await self._person(self._authenticate, scope)
        return ("human", person) if person else ("unknown", "")

    def _comes_from_site(self, scope: Scope) -> bool:
        fetched = header_lines(scope, b"sec-fetch-site")
        if fetched:
            return fetched in _OWN_SITE
        return self._origin is not None and header_lines(scope, b"origin") == [self._origin]

    @staticmethod
    async def _person(authenticate: HumanAuthenticator, scope: Scope) -> str:
        """Return who the hook vouches for. The hook is the site's code: where it fails, nobody is vouched for."""
        try:
            answer = authenticate(scope)
            person = await answer if inspect.isawaitable(answer) else answer
        except Exception:  # noqa: BLE001 - the hook is the site's code; without an answer nobody is human
            _log.exception("the human_authenticator failed; the caller is treated as unknown")
            return ""
        if isinstance(person, HumanClaim):
            person = person.person
        return person if isinstance(person, str) else ""
