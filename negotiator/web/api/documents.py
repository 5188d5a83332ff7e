"""Routes of discovery documents: choose the representation, answer conditionally.

- `Accept` decides by q-values; JSON is the default; a 406 lists what exists.
- `?lang=` or `Accept-Language` decides which language people read; JSON is the same in every language.
- Every answer, a 304 too, carries `ETag`, `Cache-Control` and `Vary` (RFC 9110 section 15.4.5).
- What is read is public, so no credential is looked at and caches may keep it for a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from negotiator.canonical import sha256_hex
from negotiator.content.parity import parity_record
from negotiator.errors import RequestError
from negotiator.web.api.answers import json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.requests import asked_language, chosen_language, chosen_media, links_of
from negotiator.web.api.resources import Handler
from negotiator.web.discovery.documents import DOCUMENTS, SUMMARISED, alone
from negotiator.web.discovery.endpoints import ENDPOINTS, JSON
from negotiator.web.discovery.pages import FORMS, PAGE_HEADERS, Pages, Reading, stylesheet
from negotiator.web.discovery.representations import Representation, json_bytes, matches_etag, represented
from negotiator.web.headers import list_header
from negotiator.web.languages import LANGUAGES

__all__ = ["DocumentRoutes"]

_SPOKEN_BY_TWINS: Final = "en"
_MAX_RECORDS: Final = 256
_CACHING = {
    "Cache-Control": "public, max-age=60",
    "Vary": "Accept, Accept-Language",
    "X-Content-Type-Options": "nosniff",
}


class DocumentRoutes:
    """Makes the handlers of documents; the templates are loaded once."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._pages = Pages()
        self._records: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._stylesheet = represented(stylesheet(), "text/css")

    def handler(self, name: str) -> Handler:
        """Return the handler of the document `name`."""

        async def document(request: Request) -> Response:
            media_type = chosen_media(request, name)
            await self._site.refresh()
            return _conditional(request, self._represent(request, name, media_type))

        return document

    async def stylesheet(self, request: Request) -> Response:
        """GET the stylesheet of the pages."""
        return _conditional(request, self._stylesheet)

    async def parity(self, request: Request) -> Response:
        """GET what a page of ours shows of its twin, worked out once for each twin; without `page`, every record."""
        page = _page_of(request)
        if not page:
            return json_answer({"pages": self._parity_records(request)})
        await self._site.refresh()
        return json_answer(await run_in_threadpool(self._parity, request, page))

    async def llms(self, request: Request) -> Response:
        """GET the index for language models: Markdown, sent as plain text, as llmstxt.org has it."""
        page = self._for_people(request, "llms", "text/markdown")
        return _conditional(request, represented(page.body, "text/plain", page.language))

    def _parity_records(self, request: Request) -> list[dict[str, str]]:
        links, prefix = links_of(request, self._site), self._site.prefix
        return [
            {
                "page": links.of(path),
                "twin": links.of(path),
                "record": f"{links.to('parity')}?page={quote(path)}",
            }
            for endpoint in ENDPOINTS
            if endpoint.kind == "document" and "{" not in (path := endpoint.full_path(prefix))
        ]

    def _parity(self, request: Request, page_path: str) -> Mapping[str, Any]:
        name, parameters = _document_at(page_path, self._site.prefix)
        links = links_of(request, self._site)
        value = DOCUMENTS[name](self._site, links, parameters)
        twin = json_bytes(alone(name, value, JSON))
        key = (links.to(name, **parameters), sha256_hex(twin))
        record = self._records.get(key)
        if record is None:
            reading = Reading(media_type="text/html", language=_SPOKEN_BY_TWINS, links=links, parameters=parameters)
            page = self._pages.render(name, value, reading=reading, support_boundary=self._site.support_boundary)
            record = parity_record(page, twin, page_url=key[0], twin_url=key[0])
            record["page_is"] = "summary" if name in SUMMARISED else "whole"
            if len(self._records) >= _MAX_RECORDS:
                self._records.clear()
            self._records[key] = record
        return record

    def _represent(self, request: Request, name: str, media_type: str) -> Representation:
        asked_language(request)
        if media_type in FORMS:
            return self._for_people(request, name, media_type)
        value = DOCUMENTS[name](self._site, links_of(request, self._site), request.path_params)
        return represented(json_bytes(alone(name, value, media_type)), media_type, next(iter(LANGUAGES)))

    def _for_people(self, request: Request, name: str, media_type: str) -> Representation:
        site, asked = self._site, asked_language(request)
        reading = Reading(
            media_type=media_type,
            language=asked or chosen_language(request),
            links=links_of(request, site, asked),
            parameters=request.path_params,
        )
        value = DOCUMENTS[name](site, reading.links, request.path_params)
        page = self._pages.render(name, value, reading=reading, support_boundary=site.support_boundary)
        return represented(page, media_type, reading.language)


def _page_of(request: Request) -> str:
    """Return the query parameter `page`, a path; empty where there is none.

    Raises:
        RequestError: `query_malformed`.
    """
    given = request.query_params.getlist("page")
    if len(given) > 1:
        message = "name one page by its path, once"
        raise RequestError(message, code="query_malformed")
    return given[0].partition("?")[0] if given else ""


def _document_at(path: str, prefix: str) -> tuple[str, Mapping[str, str]]:
    """Return the name of the document at a path, and the path's parameters.

    Raises:
        RequestError: `not_found`.
    """
    for endpoint in ENDPOINTS:
        if endpoint.kind == "document":
            pattern, _, converters = compile_path(endpoint.full_path(prefix))
            if (found := pattern.fullmatch(path)) and len(converters) == len(found.groupdict()):
                return endpoint.name, found.groupdict()
    message = "none of these pages has this path"
    raise RequestError(message, code="not_found")


def _conditional(request: Request, representation: Representation) -> Response:
    headers = {**_CACHING, "ETag": representation.etag}
    if representation.language:
        headers["Content-Language"] = representation.language
    if representation.media_type.startswith("text/html"):
        headers |= PAGE_HEADERS
    if matches_etag(list_header(request.scope, b"if-none-match"), representation.etag):
        return Response(status_code=304, headers=headers)
    return Response(representation.body, media_type=representation.media_type, headers=headers)
