"""Routes about the caller's own affairs: declare, read, renew, end; who am I; what became of my proposal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from starlette.requests import Request
from starlette.responses import Response

from negotiator.errors import RequestError
from negotiator.messages import encode_message
from negotiator.model.governed import Declared
from negotiator.model.messages import Encoding
from negotiator.web.api.answers import COMMAND_HEADERS, bytes_answer, declared_headers, json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.refusals import Refusals
from negotiator.web.api.requests import checked_id, chosen_media, flag, links_of, message_body, presented_by, source_of
from negotiator.web.discovery.endpoints import KEYLESS_JSON

__all__ = ["NegotiationRoutes"]


class NegotiationRoutes:
    """The handlers, each named after its row in the route table."""

    def __init__(self, site: Site, refusals: Refusals) -> None:
        self._site = site
        self._refusals = refusals

    async def negotiate(self, request: Request) -> Response:
        """POST a declaration: 201 for a new negotiation, 200 for the stored one of an identical declaration."""
        source = source_of(request)
        try:
            media_type = chosen_media(request, "negotiate")
            presented = presented_by(request)
            strict = flag(request, "strict")
            data = await message_body(request, max_bytes=self._site.max_message_bytes)
        except RequestError as error:
            return self._refusals.of_declaration(request, await self._site.negotiations.refuse(error, source=source))
        declared = await self._site.negotiations.create(data, presented, strict=strict, source=source)
        return self._declared(request, declared, media_type)

    async def negotiation(self, request: Request) -> Response:
        """GET one of the caller's own negotiations."""
        media_type = chosen_media(request, "negotiation")
        negotiation_id = checked_id(request)
        message = await self._site.negotiations.get(negotiation_id, presented_by(request))
        return self._message(message, media_type, headers={"UAIX-Level": message["body"]["effective_level"]})

    async def end_negotiation(self, request: Request) -> Response:
        """DELETE one of the caller's own negotiations."""
        negotiation_id = checked_id(request)
        await self._site.negotiations.end(negotiation_id, presented_by(request))
        return Response(status_code=204, headers=COMMAND_HEADERS)

    async def me(self, request: Request) -> Response:
        """GET the caller's identity, negotiations and scopes."""
        chosen_media(request, "me")
        return json_answer(await self._site.negotiations.me(presented_by(request)))

    async def proposal(self, request: Request) -> Response:
        """GET one of the caller's own memory proposals."""
        chosen_media(request, "proposal")
        proposal_id = checked_id(request)
        return json_answer(await self._site.proposals.get(proposal_id, presented_by(request)))

    def _declared(self, request: Request, declared: Declared, media_type: str) -> Response:
        headers = declared_headers(declared)
        match declared.kind:
            case "refused":
                return self._refusals.of_declaration(request, declared)
            case "created":
                headers["Location"] = self._address(request, declared.message)
                return self._message(declared.message, media_type, status=201, headers=headers)
            case "existing":
                headers["Content-Location"] = self._address(request, declared.message)
                return self._message(declared.message, media_type, headers=headers)
            case _:
                assert_never(declared.kind)

    def _address(self, request: Request, message: Mapping[str, Any]) -> str:
        return links_of(request, self._site).to("negotiation", id=message["body"]["negotiation_id"])

    def _message(
        self, message: Mapping[str, Any], media_type: str, *, headers: Mapping[str, str], status: int = 200
    ) -> Response:
        encoding: Encoding = "keyless" if media_type == KEYLESS_JSON else "minified"
        body = encode_message(message, encoding, self._site.catalog)
        return bytes_answer(body, status=status, media_type=media_type, headers=headers)
