"""Routes of discovery documents: choose the representation, answer conditionally.

- `Accept` decides by q-values; JSON is the default; a 406 lists what exists.
- Every answer, a 304 too, carries `ETag`, `Cache-Control` and `Vary` (RFC 9110 section 15.4.5).
- What is read is public, so no credential is looked at and caches may keep it for a minute.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from negotiator.web.api.ports import Site
from negotiator.web.api.requests import chosen_media, links_of
from negotiator.web.api.resources import Handler
from negotiator.web.discovery.documents import DOCUMENTS, alone
from negotiator.web.discovery.pages import PAGE_HEADERS, Pages, stylesheet
from negotiator.web.discovery.representations import Representation, json_bytes, matches_etag, represented

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
            return _conditional(request, self._represent(request, name, media_type))

        return document

    async def stylesheet(self, request: Request) -> Response:
        """GET the stylesheet of the pages."""
        return _conditional(request, self._stylesheet)

    def _represent(self, request: Request, name: str, media_type: str) -> Representation:
        site, links = self._site, links_of(request, self._site)
        value = DOCUMENTS[name](site, links, request.path_params)
        if media_type == "text/html":
            page = self._pages.render(name, value, links=links, support_boundary=site.support_boundary)
            return represented(page, media_type)
        return represented(json_bytes(alone(name, value, media_type)), media_type)


def _conditional(request: Request, representation: Representation) -> Response:
    headers = {**_CACHING, "ETag": representation.etag}
    if representation.media_type.startswith("text/html"):
        headers |= PAGE_HEADERS
    if matches_etag(request.headers.get("if-none-match", ""), representation.etag):
        return Response(status_code=304, headers=headers)
    return Response(representation.body, media_type=representation.media_type, headers=headers)
