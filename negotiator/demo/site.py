"""A small website that knows nothing of agents: pages, comments, a JSON API and a memory API.

It keeps everything in memory and forgets it at the end. What its visitors may do is not written here: that is
`demo/settings.py` and the policies.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from negotiator.demo.pages import article_page, comments_page, front_page, report_page

__all__ = ["create_site"]

_ARCHIVE_SECONDS = 60

_ARTICLES = {
    "ladder": ("Seven rungs", "What a client can do decides what it is offered, and what it is spared."),
    "consent": ("Asking first", "A write waits for a person. The person sees exactly what will be written."),
    "ledger": ("Keeping the record", "A decision that was not written down was not made."),
}


@dataclass(slots=True)
class _Content:
    """What visitors have left behind."""

    comments: list[str] = field(default_factory=lambda: ["First."])
    memory: dict[str, str] = field(default_factory=lambda: {"house/tea": "The kettle is on the left."})


def create_site() -> Starlette:
    """Return a fresh site with its own content."""
    site = Starlette(
        routes=[
            Route("/", _front),
            Route("/llms.txt", _llms),
            Route("/articles/{slug}", _article),
            Route("/articles", _publish, methods=["POST"]),
            Route("/reports/{name}", _report),
            Route("/comments", _comments),
            Route("/comments", _comment, methods=["POST"]),
            Route("/api/articles", _articles),
            Route("/api/comments", _api_comments),
            Route("/api/search", _search, methods=["POST"]),
            Route("/api/digest", _digest, methods=["POST"]),
            Route("/memory/{path:path}", _recall),
            Route("/memory/{path:path}", _remember, methods=["PUT"]),
        ]
    )
    site.state.content = _Content()
    return site


def _content(request: Request) -> _Content:
    content: _Content = request.app.state.content
    return content


async def _front(_: Request) -> Response:
    return front_page({slug: title for slug, (title, _text) in _ARTICLES.items()})


async def _llms(_: Request) -> Response:
    lines = ["# The Demo Gazette", "", "- [Articles as JSON](/api/articles)", "- [Comments as JSON](/api/comments)"]
    return PlainTextResponse("\n".join(lines) + "\n")


async def _article(request: Request) -> Response:
    found = _ARTICLES.get(request.path_params["slug"])
    return article_page(*found) if found else PlainTextResponse("no such article\n", status_code=404)


async def _articles(_: Request) -> Response:
    return JSONResponse([{"slug": slug, "title": title, "text": text} for slug, (title, text) in _ARTICLES.items()])


async def _publish(request: Request) -> Response:
    received = await request.body()
    return JSONResponse({"received_bytes": len(received), "state": "queued for the editors"}, status_code=202)


async def _report(request: Request) -> Response:
    return report_page(request.path_params["name"], len(_content(request).comments))


async def _comments(request: Request) -> Response:
    return comments_page(_content(request).comments)


async def _comment(request: Request) -> Response:
    _content(request).comments.append((await request.body()).decode("utf-8", "replace")[:2000])
    return RedirectResponse("/comments", status_code=303)


async def _api_comments(request: Request) -> Response:
    return JSONResponse(_content(request).comments)


async def _search(request: Request) -> Response:
    words = (await request.body()).decode("utf-8", "replace").casefold()
    hits = [slug for slug, (title, text) in _ARTICLES.items() if words in f"{title} {text}".casefold()]
    return JSONResponse({"hits": hits})


async def _digest(request: Request) -> Response:
    if request.query_params.get("of") == "archive":
        await asyncio.sleep(_ARCHIVE_SECONDS)
    return JSONResponse({"digest": " / ".join(title for title, _text in _ARTICLES.values())})


async def _recall(request: Request) -> Response:
    found = _content(request).memory.get(request.path_params["path"])
    return JSONResponse({"content": found}) if found else JSONResponse({"content": None}, status_code=404)


async def _remember(request: Request) -> Response:
    _content(request).memory[request.path_params["path"]] = (await request.body()).decode("utf-8", "replace")
    return Response(status_code=204)
