"""Routes about evidence: hand in, look, withdraw."""

from __future__ import annotations

import re
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from negotiator.errors import RequestError
from negotiator.model.evidence import EVIDENCE_ID
from negotiator.web.api.answers import COMMAND_HEADERS, json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.requests import bounded_body, chosen_media, links_of, presented_by
from negotiator.web.headers import single_header

__all__ = ["EvidenceRoutes"]

_ATTESTATION: Final = b"uaix-attestation"
_DETACHED: Final = re.compile(r"[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]+")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}")
_LONGEST: Final = 2_048
_ANY: Final = "application/octet-stream"


class EvidenceRoutes:
    """The handlers, each named after its row in the route table."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def add_evidence(self, request: Request) -> Response:
        """POST evidence: 201; the same again, 200."""
        chosen_media(request, "add_evidence")
        presented, kind, attestation = presented_by(request), _kind(request), _attestation(request)
        content = await bounded_body(request, max_bytes=self._site.max_evidence_bytes)
        handed = await self._site.evidence.hand_in(
            content, presented, media_type=_media_type(request), kind=kind, attestation=attestation
        )
        answer = json_answer(handed.link.as_json(), status=201 if handed.new else 200)
        answer.headers["Location"] = links_of(request, self._site).to("evidence", id=handed.link.evidence_id)
        return answer

    async def evidence(self, request: Request) -> Response:
        """GET what the caller may know of evidence that it may use."""
        chosen_media(request, "evidence")
        return json_answer(await self._site.evidence.get(_checked_id(request), presented_by(request)))

    async def withdraw_evidence(self, request: Request) -> Response:
        """DELETE evidence that the caller has handed in."""
        await self._site.evidence.withdraw(_checked_id(request), presented_by(request))
        return Response(status_code=204, headers=COMMAND_HEADERS)


def _checked_id(request: Request) -> str:
    """Return the path parameter `id`; what is no evidence id names nothing, after the caller was looked at."""
    text: str = request.path_params["id"]
    return text if EVIDENCE_ID.fullmatch(text) else ""


def _kind(request: Request) -> str:
    """Return the query parameter `kind`; empty where there is none.

    Raises:
        RequestError: `query_malformed`.
    """
    given = request.query_params.getlist("kind")
    if len(given) > 1:
        message = "the query parameter kind stands twice; write it once"
        raise RequestError(message, code="query_malformed")
    return given[0] if given else ""


def _attestation(request: Request) -> str:
    """Return the detached JWS of `UAIX-Attestation`; empty where there is none.

    Raises:
        RequestError: `header_malformed`.
    """
    value = single_header(request.scope, _ATTESTATION)
    if value is None:
        return ""
    if len(value) > _LONGEST or not _DETACHED.fullmatch(value):
        message = "the header uaix-attestation cannot be used: it must be one detached JWS, <header>..<signature>"
        raise RequestError(message, code="header_malformed")
    return value


def _media_type(request: Request) -> str:
    """Return the media type of the body without its parameters; what is none is bytes."""
    essence = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return essence if _MEDIA_TYPE.fullmatch(essence) else _ANY
