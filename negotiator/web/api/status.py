"""`healthz`: the process answers. `readyz`: the site can be governed now. `metrics`: numbers, for operators.

- `ok` and `degraded` are 200, `down` is 503; what is wrong is named by code.
- Without policies everything is denied: `degraded`, since what no rule governs still works.
- Routes that undeclared callers pass are named, so that nobody forgets them.
- Details and numbers are for loopback and for the operator's token: other callers get the word alone, and 404 for
  `metrics`. A forwarding header shows that the caller is a proxy's: then only the token gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from negotiator.errors import RequestError
from negotiator.model.conditions import Condition
from negotiator.web.api.answers import bytes_answer, json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.requests import is_operators

__all__ = ["StatusRoutes"]

_STATUS_CODES = {"ok": 200, "degraded": 200, "down": 503}
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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
        if is_operators(request, self._site):
            answer |= self._details(conditions)
        return json_answer(answer, status=_STATUS_CODES[status])

    async def metrics(self, request: Request) -> Response:
        """GET the numbers of this process; to others than operators there is nothing here.

        Raises:
            RequestError: `not_found`.
        """
        if not is_operators(request, self._site):
            message = "there is nothing here"
            raise RequestError(message, code="not_found")
        return bytes_answer(await self._site.metrics(), status=200, media_type=_METRICS_TYPE, headers={})

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
