"""Routes about effects: what became of one, and the site's word for one of which nobody knows."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from negotiator.web.api.answers import json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.requests import checked_id, chosen_media, message_body, presented_by

__all__ = ["EffectRoutes"]


class EffectRoutes:
    """The handlers, each named after its row in the route table."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def effect(self, request: Request) -> Response:
        """GET one of the caller's own effects."""
        chosen_media(request, "effect")
        effect_id = checked_id(request)
        return json_answer(await self._site.settlements.get(effect_id, presented_by(request)))

    async def settle_effect(self, request: Request) -> Response:
        """POST what became of an effect; whoever may not is told so before anything is read."""
        chosen_media(request, "settle_effect")
        credential = await self._site.settlements.authorise(presented_by(request))
        effect_id = checked_id(request)
        data = await message_body(request, max_bytes=self._site.max_message_bytes)
        return json_answer(await self._site.settlements.settle(effect_id, data, credential))
