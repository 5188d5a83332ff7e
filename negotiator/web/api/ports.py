"""What the routes need from the rest, as Protocols; `assembly.py` provides one `Site`.

All methods raise `RequestError` or `UnavailableError`; the application turns both into problem responses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from negotiator.errors import RequestError
from negotiator.model.conditions import Condition
from negotiator.model.evidence import EvidenceLink
from negotiator.model.governed import Declared, Presented, Refusal
from negotiator.model.levels import Level
from negotiator.model.records import SiteCredential
from negotiator.web.discovery.published import Published

__all__ = ["Condition", "Consents", "FiledConsent", "Negotiations", "Proposals", "Settlements", "Site"]


class Negotiations(Protocol):
    """Declarations and what became of them."""

    async def create(self, data: bytes, presented: Presented, *, strict: bool, source: str) -> Declared:
        """Decide and record the declaration in `data`; with a presented negotiation, renew it.

        Args:
            data: the request's body, in any of the three encodings.
            presented: the claims of the request's headers.
            strict: whether all eighteen body fields are demanded.
            source: where the request comes from, for budgets.
        """
        ...

    async def refuse(self, error: RequestError, *, source: str) -> Declared:
        """Record a declaration that could not even be received, and return its refusal."""
        ...

    async def get(self, negotiation_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return the keyed message of the caller's own negotiation, without `body.token`.

        Raises:
            RequestError: `not_found`, for unknown and for foreign ones alike.
        """
        ...

    async def end(self, negotiation_id: str, presented: Presented) -> None:
        """End the caller's own negotiation.

        Raises:
            RequestError: `not_found`, for unknown and for foreign ones alike.
        """
        ...

    async def me(self, presented: Presented) -> Mapping[str, Any]:
        """Return the caller's identity, negotiations and scopes."""
        ...

    def validate(self, data: bytes, *, strict: bool, profile: str) -> Mapping[str, Any]:
        """Return `{valid, profile, encoding, digest, findings[]}` of any bytes; `profile` may be empty."""
        ...


class Proposals(Protocol):
    """Memory proposals."""

    async def get(self, proposal_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return the caller's own proposal.

        Raises:
            RequestError: `not_found`, for unknown and for foreign ones alike.
        """
        ...


class Settlements(Protocol):
    """Effects, and what is said of those of which nobody knows how they ended."""

    async def get(self, effect_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return the caller's own effect; to the site any.

        Raises:
            RequestError: `not_found`, for unknown and for foreign ones alike.
        """
        ...

    async def authorise(self, presented: Presented) -> SiteCredential:
        """Return the site credential that is presented.

        Raises:
            RequestError: `credentials_invalid`.
        """
        ...

    async def settle(self, effect_id: str, data: bytes, credential: SiteCredential) -> Mapping[str, Any]:
        """Settle an effect and return it.

        Raises:
            RequestError: `body_malformed`, `not_found`, `effect_not_unknown`, `refused`, `credentials_invalid`.
        """
        ...


class FiledConsent(Protocol):
    """What came of a posted consent request."""

    @property
    def document(self) -> Mapping[str, Any]: ...
    @property
    def replayed(self) -> bool:
        """The same key asked for the same before."""
        ...


class Consents(Protocol):
    """Consent requests and approvals, as their agents see them. What belongs to somebody else is `not_found`."""

    async def ask(self, data: bytes, presented: Presented, *, authority: str) -> FiledConsent:
        """File the consent request in `data`, or find an equal one that waits."""
        ...

    async def get(self, request_id: str, presented: Presented, *, wait_seconds: int = 0) -> Mapping[str, Any]:
        """Return the caller's own request, once it is decided or the time is over."""
        ...

    async def cancel(self, request_id: str, presented: Presented) -> Mapping[str, Any]:
        """Take back the caller's own request."""
        ...

    async def give_back(self, approval_id: str, presented: Presented) -> None:
        """Revoke the caller's own approval."""
        ...

    async def receipt(self, approval_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return the signed receipt of the caller's own approval."""
        ...


class BegunTask(Protocol):
    """What came of the wish to begin a task; it was recorded, and has a task or a refusal."""

    @property
    def decision_id(self) -> str: ...
    @property
    def level(self) -> Level | None: ...
    @property
    def refusal(self) -> Refusal | None: ...
    @property
    def replayed(self) -> bool: ...

    def as_json(self) -> dict[str, Any]:
        """Return the task and where its entry stands."""
        ...


class Tasks(Protocol):
    """Long tasks, as their agents see them. What belongs to somebody else is `not_found`."""

    async def begin(self, data: bytes, presented: Presented, *, source: str) -> BegunTask:
        """Decide whether a task may begin, and begin it."""
        ...

    async def get(self, task_id: str, presented: Presented) -> Mapping[str, Any]: ...

    async def status(self, task_id: str, data: bytes, presented: Presented) -> Mapping[str, Any]:
        """Take a status message and return the task as it is then."""
        ...

    async def report(self, task_id: str, data: bytes, presented: Presented) -> Mapping[str, Any]:
        """Take the final report and return the task as it is then."""
        ...


class HandedEvidence(Protocol):
    """What became of evidence that was handed in."""

    @property
    def link(self) -> EvidenceLink: ...
    @property
    def new(self) -> bool: ...


class Evidences(Protocol):
    """Evidence, as agents see it. What belongs to somebody else is `not_found`."""

    async def hand_in(
        self, content: bytes, presented: Presented, *, media_type: str, kind: str, attestation: str
    ) -> HandedEvidence:
        """Keep evidence; `kind` and `attestation` may be empty."""
        ...

    async def get(self, evidence_id: str, presented: Presented) -> Mapping[str, Any]: ...

    async def withdraw(self, evidence_id: str, presented: Presented) -> None: ...


class Site(Published, Protocol):
    """Everything that the routes need."""

    @property
    def negotiations(self) -> Negotiations: ...
    @property
    def proposals(self) -> Proposals: ...
    @property
    def settlements(self) -> Settlements: ...
    @property
    def consents(self) -> Consents: ...
    def ticket_url(self, request_id: str) -> str:
        """Return where a person finds a consent request; the address gives no authority."""
        ...

    @property
    def tasks(self) -> Tasks: ...
    @property
    def evidence(self) -> Evidences: ...
    @property
    def max_evidence_bytes(self) -> int:
        """The largest evidence; more is 413."""
        ...

    @property
    def max_message_bytes(self) -> int:
        """The largest message; more is 413."""
        ...

    @property
    def root_aliases(self) -> bool:
        """Whether routes such as `/healthz` are answered at the site's root, too."""
        ...

    @property
    def policy_count(self) -> int:
        """How many policies the active bundle has; with none, everything is denied."""
        ...

    async def refresh(self) -> None:
        """Look again at what discovery shows and other processes may have changed; what cannot be read stays."""
        ...

    async def conditions(self) -> Sequence[Condition]:
        """Return what is wrong now, beyond what the routes see themselves."""
        ...

    def is_operator_token(self, token: str) -> bool:
        """Whether `token` is the operator's, compared in constant time; where there is none, nothing is."""
        ...

    async def metrics(self) -> bytes:
        """Return the numbers of this process, in Prometheus's text format."""
        ...
