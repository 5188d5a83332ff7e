"""`validate`: check any message, store nothing.

Whatever is wrong with the message is a finding of a 200; only a body that is too large or of another type is a
problem. The answer is JSON whatever `Accept` says (RFC 9110 section 12.1 lets a server do so).
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from negotiator.web.api.answers import json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.requests import flag, message_body

__all__ = ["ValidationRoutes"]


class ValidationRoutes:
    """The handler, named after its row in the route table."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def validate(self, request: Request) -> Response:
        """POST a message and learn what is wrong with it; the work is done off the event loop."""
        strict = flag(request, "strict")
        data = await message_body(request, max_bytes=self._site.max_message_bytes)
        report = await run_in_threadpool(
            self._site.negotiations.validate,
            data,
            strict=strict,
            profile=request.query_params.get("profile", ""),
        )
        return json_answer(report)
