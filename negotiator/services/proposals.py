"""Memory proposals, as far as their authors may see them. Review and promotion are people's actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from negotiator.errors import RequestError
from negotiator.model.governed import Presented
from negotiator.model.records import Proposal
from negotiator.model.times import format_time
from negotiator.ports import Store
from negotiator.services.callers import Callers

__all__ = ["Proposals"]


class Proposals:
    """The memory proposals of one project."""

    def __init__(self, *, store: Store, callers: Callers) -> None:
        self._store = store
        self._callers = callers

    async def get(self, proposal_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return a proposal to the agent that filed it.

        Raises:
            RequestError: `not_found`, also where it belongs to somebody else; `credentials_invalid`.
        """
        caller = await self._callers.resolve(presented, fresh=True)
        found = await self._store.read(lambda reader: reader.proposals.get(proposal_id))
        if found is None or found.subject != caller.identity.subject:
            message = "there is no such proposal, or it is not yours"
            raise RequestError(message, code="not_found")
        return _shown(found)


def _shown(proposal: Proposal) -> dict[str, Any]:
    return {
        "proposal_id": proposal.proposal_id,
        "decision_id": proposal.decision_id,
        "state": proposal.state.value,
        "resource": proposal.resource,
        "method": proposal.held["method"],
        "target": proposal.held["target"],
        "content_type": proposal.held["content_type"],
        "body_bytes": len(proposal.body),
        "body_sha256": proposal.body_sha256,
        "created_at": format_time(proposal.created_at),
    }
