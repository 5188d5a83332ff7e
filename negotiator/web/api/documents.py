"""Routes of discovery documents: choose the representation, answer conditionally.

- `Accept` decides by q-values; JSON is the default; a 406 lists what exists.
- `?lang=` or `Accept-Language` decides which language people read; JSON is the same in every language.
- Every answer, a 304 too, carries `ETag`, `Cache-Control` and `Vary` (RFC 9110 section 15.4.5).
- What is read is public, so no credential is looked at and caches may keep it for a minute.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from negotiator.web.api.ports import Site
from negotiator.web.api.requests import asked_language, chosen_language, chosen_media, links_of
from negotiator.web.api.resources import Handler
from negotiator.web.discovery.documents import DOCUMENTS, alone
from negotiator.web.discovery.pages import FORMS, PAGE_HEADERS, Pages, Reading, stylesheet
from negotiator.web.discovery.representations import Representation, json_bytes, matches_etag, represented
from negotiator.web.headers import list_header
from negotiator.web.languages import LANGUAGES

__all__ = ["DocumentRoutes"]

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

    async def llms(self, request: Request) -> Response:
        """GET the index for language models: Markdown, sent as plain text, as llmstxt.org has it."""
        page = self._for_people(request, "llms", "text/markdown")
        return _conditional(request, represented(page.body, "text/plain", page.language))

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


def _conditional(request: Request, representation: Representation) -> Response:
    headers = {**_CACHING, "ETag": representation.etag}
    if representation.language:
        headers["Content-Language"] = representation.language
    if representation.media_type.startswith("text/html"):
        headers |= PAGE_HEADERS
    if matches_etag(list_header(request.scope, b"if-none-match"), representation.etag):
        return Response(status_code=304, headers=headers)
    return Response(representation.body, media_type=representation.media_type, headers=headers)
