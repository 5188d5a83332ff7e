"""`healthz`: the process answers. `readyz`: the site can be governed now.

- `ok` and `degraded` are 200, `down` is 503; what is wrong is named by code.
- Without policies everything is denied: `degraded`, since what no rule governs still works.
- Routes that undeclared callers pass are named, so that nobody forgets them.
- Details are for loopback: other callers get the word alone. A forwarding header shows that the caller is a proxy's,
  so it takes the details away; it never gives any.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from negotiator.web.api.answers import json_answer
from negotiator.web.api.ports import Condition, Site
from negotiator.web.api.requests import source_of

__all__ = ["StatusRoutes"]

_STATUS_CODES = {"ok": 200, "degraded": 200, "down": 503}
_FORWARDING_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_NO_POLICIES = Condition(
    code="policies_empty",
    state="degraded",
    detail="the active bundle has no policy, so every governed request is denied; add *.cedar files and reload",
)


class StatusRoutes:
    """The handlers, each named after its row in the route table."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def healthz(self, _request: Request) -> Response:
        """GET whether the process answers."""
        return json_answer({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """GET whether requests can be decided and recorded now."""
        conditions = [*await self._site.conditions(), *([] if self._site.policy_count else [_NO_POLICIES])]
        status = _worst(conditions)
        answer: dict[str, Any] = {"status": status}
        if _is_local(request):
            answer |= self._details(conditions)
        return json_answer(answer, status=_STATUS_CODES[status])

    def _details(self, conditions: Sequence[Condition]) -> dict[str, Any]:
        return {
            "conditions": [{"code": c.code, "state": c.state, "detail": c.detail} for c in conditions],
            "bundle_digest": self._site.bundle_digest,
            "policies": self._site.policy_count,
            "mode": self._site.mode,
            "pass_routes": [rule.label for rule in self._site.routes if rule.undeclared == "pass"],
        }


def _worst(conditions: Sequence[Condition]) -> str:
    states = {condition.state for condition in conditions}
    return "down" if "down" in states else "degraded" if states else "ok"


def _is_local(request: Request) -> bool:
    if any(name in request.headers for name in _FORWARDING_HEADERS):
        return False
    try:
        return ip_address(source_of(request)).is_loopback
    except ValueError:
        return False
