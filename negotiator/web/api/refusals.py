"""Every no of our own routes, as a problem response.

- What a caller can mend, and what a wait can mend, is said; a fault of ours is a 500 that says nothing, and goes on to
  the server's log.
- A path that is not there and one that the caller may not see look alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from negotiator.errors import NegotiatorError, RequestError
from negotiator.model.governed import Declared, Refusal
from negotiator.web.api.answers import declared_headers
from negotiator.web.api.ports import Site
from negotiator.web.problems import ProblemPages

__all__ = ["Refusals"]


class Refusals:
    """Words what handlers raise and what services refuse."""

    def __init__(self, site: Site) -> None:
        self._pages = ProblemPages(prefix=site.prefix, public_url=site.public_url)

    def of_declaration(self, request: Request, declared: Declared) -> Response:
        """Return the answer to a declaration that was not admitted."""
        refusal = declared.refusal or Refusal(code="refused", detail="the declaration was not admitted")
        return self._pages.refusal(request.scope, refusal, headers=declared_headers(declared))

    def of_refusal(self, request: Request, refusal: Refusal, *, headers: Mapping[str, str]) -> Response:
        """Return the answer to a command that was decided and refused."""
        return self._pages.refusal(request.scope, refusal, headers=headers)

    async def of_error(self, request: Request, error: Exception) -> Response:
        """Return the answer to a `RequestError` or an `UnavailableError`."""
        assert isinstance(error, NegotiatorError)  # noqa: S101 - registered for these alone
        return self._pages.error(request.scope, error)

    async def of_missing_path(self, request: Request, _error: Exception) -> Response:
        """Return the answer to a path that is none of ours."""
        nothing = RequestError("no route of ours has this path", code="not_found")
        return self._pages.error(request.scope, nothing)

    async def of_method(self, request: Request, error: Exception) -> Response:
        """Return the answer to a method that the path does not have."""
        assert isinstance(error, HTTPException)  # noqa: S101 - registered for these alone
        allow = dict(error.headers or {})
        other = RequestError(f"this path takes {allow.get('Allow', '')}", code="method_not_allowed")
        return self._pages.error(request.scope, other, headers=allow)

    async def of_fault(self, request: Request, _error: Exception) -> Response:
        """Return the answer to a fault of ours; the error itself goes on to the server."""
        return self._pages.error(request.scope, NegotiatorError("fault", code="internal_error"))
