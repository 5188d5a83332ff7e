"""Consents as operators see them on the host: list, show, deny, revoke. Approving takes a person's own sign-in.

Runs on the host of the database, without an event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from negotiator.errors import ClaimFailed, RequestError, quoted
from negotiator.model.consents import Approval, ApprovalUse, ConsentRequest, ConsentState
from negotiator.model.entries import EntryValue
from negotiator.ports import Reader, Store
from negotiator.services.consent_decisions import ending, revoking

__all__ = ["ConsentDesk", "OnTheDesk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTheDesk:
    """A request, who asked, and what came of it."""

    request: ConsentRequest
    agent_name: str
    operated_by: str
    approval: Approval | None
    uses: Sequence[ApprovalUse]


class ConsentDesk:
    """The consents of one project, for the command line."""

    def __init__(self, *, store: Store) -> None:
        self._store = store

    def newest(self) -> Sequence[ConsentRequest]:
        """Return the newest requests, at most 100."""
        return self._store.read_sync(lambda reader: reader.consents.newest())

    def show(self, request_id: str) -> OnTheDesk:
        """Return one request.

        Raises:
            RequestError: `not_found`.
        """

        def query(reader: Reader) -> OnTheDesk | None:
            request = reader.consents.get(request_id)
            if request is None:
                return None
            agent = next((each for each in reader.agents.all() if each.agent_id == request.agent_id), None)
            approval = reader.approvals.get(request.approval_id) if request.approval_id else None
            return OnTheDesk(
                request=request,
                agent_name=agent.name if agent else "",
                operated_by=agent.operated_by if agent else "",
                approval=approval,
                uses=reader.approvals.uses_of(approval.approval_id) if approval else (),
            )

        found = self._store.read_sync(query)
        if found is None:
            message = f"there is no consent request {quoted(request_id)}; `negotiator consent list` shows them"
            raise RequestError(message, code="not_found")
        return found

    def deny(self, request_id: str, *, actor: str) -> ConsentRequest:
        """Deny a request that waits.

        Raises:
            RequestError: `not_found`; `consent_ended`, where it does not wait any more.
            UnavailableError: it could not be recorded.
        """
        request = self.show(request_id).request
        unit = ending(request, ConsentState.DENIED, "consent_denied", by=_by(actor), actor=_actor(actor))
        try:
            self._store.transact_sync(unit)
        except ClaimFailed:
            message = f"the consent request {quoted(request_id)} does not wait any more"
            raise RequestError(message, code="consent_ended") from None
        return self.show(request_id).request

    def revoke(self, approval_id: str, *, actor: str) -> bool:
        """Revoke an approval, from this commit on; False where it was revoked already.

        Raises:
            RequestError: `not_found`.
            UnavailableError: it could not be recorded.
        """
        return self._store.transact_sync(revoking(approval_id, by=_by(actor), actor=_actor(actor)))


def _by(actor: str) -> str:
    return f"host:{actor}"


def _actor(actor: str) -> EntryValue:
    return {"type": "Host", "id": actor}
