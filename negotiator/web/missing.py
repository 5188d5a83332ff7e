"""`/llms.txt`: the site's own where it has one, ours where it answers 404.

- Only the head of an answer is looked at, and only for this one path, read by GET or HEAD.
- A 404 is dropped as a whole, body and all, and our API answers in its place at once. Any other answer, a refusal of
  ours too, goes out as it came.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from negotiator.web.discovery.endpoints import LLMS_PATH
from negotiator.web.paths import route_path

__all__ = ["instead_of_missing", "may_be_missing"]


def may_be_missing(scope: Scope) -> bool:
    """Whether our answer stands in if the site has none."""
    path: str = scope["path"]
    if not path.endswith(LLMS_PATH) or scope["method"] not in {"GET", "HEAD"}:
        return False
    return route_path(path, scope.get("root_path") or "") == LLMS_PATH


def instead_of_missing(ours: ASGIApp, scope: Scope, receive: Receive, send: Send) -> Send:
    """Return what the site sends to: `send`, but for a 404, which `ours` replaces."""
    dropped = False

    async def site_send(message: Message) -> None:
        nonlocal dropped
        if message["type"] == "http.response.start" and message["status"] == 404:
            dropped = True
            await ours(scope, receive, send)
        elif not dropped:
            await send(message)

    return site_send
