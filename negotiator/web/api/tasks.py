"""Routes about long tasks: begin one, say where it stands, report, look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from negotiator.web.api.answers import json_answer
from negotiator.web.api.ports import Site
from negotiator.web.api.refusals import Refusals
from negotiator.web.api.requests import checked_id, chosen_media, links_of, message_body, presented_by, source_of

__all__ = ["TaskRoutes"]


class TaskRoutes:
    """The handlers, each named after its row in the route table."""

    def __init__(self, site: Site, refusals: Refusals) -> None:
        self._site = site
        self._refusals = refusals

    async def begin_task(self, request: Request) -> Response:
        """POST a task that is to begin: 201; with a key that began one before, 200 and that task."""
        chosen_media(request, "begin_task")
        presented = presented_by(request)
        data = await message_body(request, max_bytes=self._site.max_message_bytes)
        begun = await self._site.tasks.begin(data, presented, source=source_of(request))
        headers = {"UAIX-Decision": begun.decision_id}
        if begun.level is not None:
            headers["UAIX-Level"] = begun.level.name
        if begun.refusal is not None:
            return self._refusals.of_refusal(request, begun.refusal, headers=headers)
        document = begun.as_json()
        headers["Location"] = links_of(request, self._site).to("task", id=document["task_id"])
        if begun.replayed:
            headers["Idempotent-Replayed"] = "true"
        answer = json_answer(self._document(request, document), status=200 if begun.replayed else 201)
        answer.headers.update(headers)
        return answer

    async def task(self, request: Request) -> Response:
        """GET one of the caller's own tasks."""
        chosen_media(request, "task")
        found = await self._site.tasks.get(checked_id(request), presented_by(request))
        return json_answer(self._document(request, found))

    async def task_status(self, request: Request) -> Response:
        """POST where one of the caller's own tasks stands."""
        chosen_media(request, "task_status")
        task_id, presented = checked_id(request), presented_by(request)
        data = await message_body(request, max_bytes=self._site.max_message_bytes)
        return json_answer(self._document(request, await self._site.tasks.status(task_id, data, presented)))

    async def task_report(self, request: Request) -> Response:
        """POST the final report of one of the caller's own tasks."""
        chosen_media(request, "task_report")
        task_id, presented = checked_id(request), presented_by(request)
        data = await message_body(request, max_bytes=self._site.max_message_bytes)
        return json_answer(self._document(request, await self._site.tasks.report(task_id, data, presented)))

    def _document(self, request: Request, document: Mapping[str, Any]) -> dict[str, Any]:
        links, task_id = links_of(request, self._site), document["task_id"]
        return {
            **document,
            "status_url": links.to("task_status", id=task_id),
            "final_report_url": links.to("task_report", id=task_id),
        }
