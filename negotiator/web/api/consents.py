"""Routes about consents: ask, look (and wait), cancel, give an approval back, receipt. People decide elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from negotiator.web.api.answers import COMMAND_HEADERS, json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.requests import checked_id, chosen_media, links_of, message_body, presented_by

__all__ = ["ConsentRoutes"]

_WAIT = re.compile(r"wait=([0-9]{1,6})", re.IGNORECASE)
_MOST_SECONDS = 30


class ConsentRoutes:
    """The handlers, each named after its row in the route table."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def request_consent(self, request: Request) -> Response:
        """POST what a human is to consent to: 202, and where the request stands."""
        chosen_media(request, "request_consent")
        presented = presented_by(request)
        data = await message_body(request, max_bytes=self._site.max_message_bytes)
        authority = request.headers.get("host", "").lower()
        filed = await self._site.consents.ask(data, presented, authority=authority)
        answer = json_answer(self._document(request, filed.document), status=202)
        answer.headers["Location"] = links_of(request, self._site).to("consent", id=filed.document["id"])
        if filed.replayed:
            answer.headers["Idempotent-Replayed"] = "true"
        return answer

    async def consent(self, request: Request) -> Response:
        """GET one of the caller's own consent requests; with `Prefer: wait=N`, once it is decided."""
        chosen_media(request, "consent")
        seconds = _preferred_wait(request)
        found = await self._site.consents.get(checked_id(request), presented_by(request), wait_seconds=seconds)
        answer = json_answer(self._document(request, found))
        if seconds:
            answer.headers["Preference-Applied"] = f"wait={seconds}"
        return answer

    async def cancel_consent(self, request: Request) -> Response:
        """POST to take back one of the caller's own consent requests."""
        chosen_media(request, "cancel_consent")
        found = await self._site.consents.cancel(checked_id(request), presented_by(request))
        return json_answer(self._document(request, found))

    async def revoke_approval(self, request: Request) -> Response:
        """DELETE one of the caller's own approvals."""
        await self._site.consents.give_back(checked_id(request), presented_by(request))
        return Response(status_code=204, headers=COMMAND_HEADERS)

    async def approval_receipt(self, request: Request) -> Response:
        """GET the signed receipt of one of the caller's own approvals."""
        chosen_media(request, "approval_receipt")
        return json_answer(await self._site.consents.receipt(checked_id(request), presented_by(request)))

    def _document(self, request: Request, document: Mapping[str, Any]) -> dict[str, Any]:
        links = links_of(request, self._site)
        return {
            **document,
            "status_url": links.to("consent", id=document["id"]),
            "cancel_url": links.to("cancel_consent", id=document["id"]),
            "ticket_url": self._site.ticket_url(document["id"]),
        }


def _preferred_wait(request: Request) -> int:
    """Return the seconds that the caller would wait, at most 30; 0 where it names none (RFC 7240 section 4.3)."""
    preferences = [each.strip() for line in request.headers.getlist("prefer") for each in line.split(",")]
    found = next((match for each in preferences if (match := _WAIT.fullmatch(each))), None)
    return min(int(found.group(1)), _MOST_SECONDS) if found else 0
