"""One small Protocol per aggregate: what can be read of it, and what a unit may do to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from negotiator.model.consents import Approval, ApprovalUse, ConsentRequest, ConsentState
from negotiator.model.evidence import Evidence, EvidenceIssuer, EvidenceLink
from negotiator.model.keys import SigningKey
from negotiator.model.levels import Level
from negotiator.model.records import (
    Agent,
    Closing,
    Credential,
    Intent,
    KeySlot,
    KeyUse,
    Negotiation,
    OutcomeEnd,
    Proposal,
    Settled,
    SiteCredential,
    StoredAnswer,
)
from negotiator.model.tasks import Task

__all__ = [
    "AgentReads",
    "AgentWrites",
    "ApprovalReads",
    "ApprovalWrites",
    "ConsentReads",
    "ConsentWrites",
    "EvidenceReads",
    "EvidenceWrites",
    "IdempotencyReads",
    "IdempotencyWrites",
    "IntentReads",
    "IntentWrites",
    "KeyReads",
    "KeyWrites",
    "LedgerReads",
    "NegotiationReads",
    "NegotiationWrites",
    "ProposalReads",
    "ProposalWrites",
    "SiteCredentialReads",
    "SiteCredentialWrites",
    "StateWrites",
    "TaskReads",
    "TaskWrites",
]


class AgentReads(Protocol):
    """Registered agents and their credentials."""

    def with_credential(self, credential_id: str) -> tuple[Agent, Credential] | None:
        """Return the agent and the credential, also when either is revoked; None if there is none."""
        ...

    def named(self, name: str) -> Agent | None:
        """Return the agent of that name that is not revoked."""
        ...

    def all(self) -> Sequence[Agent]:
        """Return every agent, by creation."""
        ...


class AgentWrites(Protocol):
    """Changes to agents."""

    def add(self, agent: Agent, credential: Credential) -> bool:
        """Store both; False if an unrevoked agent already has the name."""
        ...

    def revoke(self, name: str, at: datetime) -> Agent | None:
        """Revoke the agent of that name and its credentials; None if there is none."""
        ...

    def claim_credential(self, credential_id: str, max_level: Level) -> bool:
        """Claim: neither the credential nor its agent is revoked, and the agent's cap is still `max_level`."""
        ...


class NegotiationReads(Protocol):
    """Stored negotiations."""

    def get(self, negotiation_id: str) -> Negotiation | None: ...

    def identical(self, *, credential_id: str, digest: str, strict: bool, at: datetime) -> Negotiation | None:
        """Return the newest live negotiation of the same declaration under the same credential."""
        ...

    def is_live(self, negotiation_id: str, at: datetime) -> bool:
        """Whether it has neither ended nor expired."""
        ...

    def of_subject(self, subject: str, at: datetime) -> Sequence[Negotiation]:
        """Return the live negotiations of `subject`, newest first, at most 100."""
        ...


class NegotiationWrites(NegotiationReads, Protocol):
    """Changes to negotiations."""

    def add(self, negotiation: Negotiation) -> None: ...

    def end(self, negotiation_id: str, at: datetime) -> bool:
        """End it; False if it was not live."""
        ...

    def claim_live(self, negotiation_id: str, at: datetime) -> bool:
        """Claim: it has neither ended nor expired."""
        ...

    def claim_room(self, subject: str, most: int, at: datetime, *, since: datetime) -> bool:
        """Claim: of those that `subject` was given since then, fewer than `most` are live."""
        ...

    def forget(self, before: datetime, most: int) -> int:
        """Delete those that expired before then, at most `most`, the oldest first; return how many."""
        ...


class KeyReads(Protocol):
    """The public halves of signing keys, of every host."""

    def all(self) -> Sequence[SigningKey]:
        """Return every key, retired ones too, by creation."""
        ...


class KeyWrites(KeyReads, Protocol):
    """Changes to signing keys."""

    def add(self, key: SigningKey) -> bool:
        """Store it; False if it is there already."""
        ...

    def claim_usable(self, key_id: str) -> bool:
        """Claim: it is known and not retired."""
        ...

    def rotate(self, key_id: str, at: datetime) -> bool:
        """Let it verify only; False if it did not sign any more."""
        ...

    def retire(self, key_id: str, at: datetime) -> bool:
        """Retire it and end every negotiation whose token it has signed; False if it was retired or is unknown."""
        ...


class IntentReads(Protocol):
    """Effects between their intent and their outcome."""

    def get(self, decision_id: str) -> Intent | None: ...

    def unfinished(self) -> Sequence[Intent]:
        """Return what is open, or was interrupted and is not settled, newest first, at most 1,000."""
        ...

    def open_count(self) -> int:
        """Return how many have no outcome yet."""
        ...


class IntentWrites(IntentReads, Protocol):
    """Changes to effects."""

    def open(self, intent: Intent) -> None: ...

    def close(self, decision_id: str, end: OutcomeEnd, at: datetime, *, called: bool) -> Closing:
        """Record the outcome of an open or an interrupted effect; anything else is left as it is."""
        ...

    def settle(self, decision_id: str, settled: Settled) -> bool:
        """Claim and settle: it was interrupted, and nobody has settled it."""
        ...

    def renew(self, owner: str) -> None:
        """Raise the lease of every open intent of `owner`."""
        ...

    def of_others(self, owner: str) -> Sequence[Intent]:
        """Return the oldest open intents of other processes, at most 5,000."""
        ...

    def interrupt(self, intent: Intent, at: datetime) -> bool:
        """Claim and end: it is open, and its owner has not raised its lease since `intent` was read."""
        ...


class StateWrites(Protocol):
    """What was in force when it was last recorded, by name."""

    def get(self, name: str) -> str | None: ...

    def put(self, name: str, value: str, at: datetime) -> None: ...


class IdempotencyReads(Protocol):
    """Idempotency keys that were used, and answers that are kept for them."""

    def find(self, slot: KeySlot) -> KeyUse | None: ...

    def answer(self, decision_id: str) -> StoredAnswer | None: ...


class IdempotencyWrites(IdempotencyReads, Protocol):
    """Changes to keys and answers."""

    def take(self, use: KeyUse) -> KeyUse | None:
        """Take the slot and return None; or return the use that has it already, and change nothing."""
        ...

    def pass_on(self, use: KeyUse, *, decision_id: str) -> bool:
        """Claim and give: the slot belongs to the use of `decision_id`; from now on it belongs to `use`."""
        ...

    def keep(self, answer: StoredAnswer) -> None: ...

    def forget(self, before: datetime) -> None:
        """Delete keys and answers from before then, at most 1,000 each.

        A key whose effect is under way, or of which nobody knows how it ended, stays.
        """
        ...


class SiteCredentialReads(Protocol):
    """The site's own credentials."""

    def get(self, credential_id: str) -> SiteCredential | None: ...

    def all(self) -> Sequence[SiteCredential]:
        """Return every one, revoked ones too, by creation."""
        ...


class SiteCredentialWrites(SiteCredentialReads, Protocol):
    """Changes to the site's own credentials."""

    def add(self, credential: SiteCredential) -> bool:
        """Store it; False if an unrevoked one already has the name."""
        ...

    def revoke(self, name: str, at: datetime) -> SiteCredential | None:
        """Revoke the one of that name; None if there is none."""
        ...

    def claim_active(self, credential_id: str) -> bool:
        """Claim: it is known and not revoked."""
        ...


class ProposalReads(Protocol):
    """Memory proposals."""

    def get(self, proposal_id: str) -> Proposal | None: ...

    def of_subject(self, subject: str) -> Sequence[Proposal]:
        """Return the proposals of `subject`, newest first, at most 100."""
        ...


class ProposalWrites(ProposalReads, Protocol):
    """Changes to proposals."""

    def add(self, proposal: Proposal) -> None: ...


class ConsentReads(Protocol):
    """Consent requests."""

    def get(self, request_id: str) -> ConsentRequest | None: ...

    def newest(self) -> Sequence[ConsentRequest]:
        """Return the newest requests, at most 100."""
        ...

    def of_digests(self, subject: str, digests: Sequence[str]) -> ConsentRequest | None:
        """Return the newest request of `subject` with one of the digests (one to three), whatever its state."""
        ...

    def denied_since(
        self, subject: str, *, action: str, resource_type: str, resource: str, since: datetime
    ) -> ConsentRequest | None:
        """Return the last request of that kind that was denied after `since`."""
        ...


class ConsentWrites(ConsentReads, Protocol):
    """Changes to consent requests."""

    def add(self, request: ConsentRequest) -> None: ...

    def pending_of(self, subject: str) -> int:
        """Return how many requests of `subject` wait."""
        ...

    def pending(self) -> int:
        """Return how many requests wait in all."""
        ...

    def due(self, at: datetime) -> Sequence[ConsentRequest]:
        """Return requests that still wait and whose time is over, at most 100."""
        ...

    def end(self, request_id: str, state: ConsentState, *, at: datetime, by: str = "", approval_id: str = "") -> bool:
        """End a request that waits; False if it does not wait any more."""
        ...


class ApprovalReads(Protocol):
    """Approvals."""

    def get(self, approval_id: str) -> Approval | None: ...

    def uses_of(self, approval_id: str) -> Sequence[ApprovalUse]:
        """Return what spent it, oldest first, at most 100."""
        ...


class ApprovalWrites(ApprovalReads, Protocol):
    """Changes to approvals."""

    def add(self, approval: Approval) -> None: ...

    def claim_holds(self, approval_id: str, digest: str, *, epoch: int, at: datetime) -> bool:
        """Claim: it covers `digest`, has a use left, and is neither revoked nor expired nor of another epoch."""
        ...

    def spend(self, approval_id: str, digest: str, *, decision_id: str, epoch: int, at: datetime) -> bool:
        """Claim the same and take one use, in one statement."""
        ...

    def revoke(self, approval_id: str, *, at: datetime, by: str) -> bool:
        """Revoke it; False if it was revoked already or is unknown."""
        ...


class TaskReads(Protocol):
    """Long tasks."""

    def get(self, task_id: str) -> Task | None: ...

    def of_subject(self, subject: str) -> Sequence[Task]:
        """Return the tasks of `subject`, newest first, at most 100."""
        ...

    def all(self) -> Sequence[Task]:
        """Return the tasks of every agent, newest first, at most 1,000."""
        ...


class TaskWrites(TaskReads, Protocol):
    """Changes to long tasks."""

    def of_decision(self, decision_id: str) -> Task | None:
        """Return the task that a decision let begin."""
        ...

    def add(self, task: Task) -> None:
        """Store it, and forget the oldest ended ones of its subject beyond 1,000."""
        ...

    def change(self, old: Task, new: Task) -> bool:
        """Claim and change: the task is still in the state of `old`."""
        ...

    def due(self, at: datetime) -> Sequence[Task]:
        """Return the tasks that time moves by then, those first that were due first, at most 500."""
        ...

    def open_count(self, subject: str) -> int:
        """Return how many tasks of `subject` have not ended."""
        ...


class EvidenceReads(Protocol):
    """Evidence, its links, and those who may attest."""

    def get(self, evidence_id: str) -> Evidence | None:
        """Return the content; who may see it is for the links to say."""
        ...

    def links(self, evidence_id: str, subject: str) -> Sequence[EvidenceLink]:
        """Return the links by which `subject` may use it now: none of an issuer that was revoked."""
        ...

    def all_links(self) -> Sequence[EvidenceLink]:
        """Return every link, also of revoked issuers, newest first, at most 1,000."""
        ...

    def issuers(self) -> Sequence[EvidenceIssuer]:
        """Return every issuer, revoked ones too, by creation."""
        ...


class EvidenceWrites(EvidenceReads, Protocol):
    """Changes to evidence."""

    def add(self, evidence: Evidence, link: EvidenceLink) -> bool:
        """Store the content if it is new, and the link; False if the link is there already."""
        ...

    def withdraw(self, evidence_id: str, uploader: str) -> int:
        """Drop what `uploader` linked to it, and the content where no link is left; return how many links went."""
        ...

    def used(self, uploader: str) -> tuple[int, int]:
        """Return how many links an uploader has made, and how many bytes are behind them."""
        ...

    def claim(self, link: EvidenceLink) -> bool:
        """Claim: there is such a link, and its issuer, if it has one, is not revoked."""
        ...

    def claim_issuer(self, key_id: str) -> bool:
        """Claim: the issuer is known and not revoked."""
        ...

    def add_issuer(self, issuer: EvidenceIssuer) -> bool:
        """Store it; False if its key is there already."""
        ...

    def revoke_issuer(self, key_id: str, at: datetime) -> bool:
        """Revoke it; False if it was revoked or is unknown."""
        ...


class LedgerReads(Protocol):
    """The committed ledger."""

    def size(self) -> int:
        """Return how many entries there are."""
        ...

    def lines(self, *, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the canonical bytes of the entries with start ≤ index < stop, in order."""
        ...

    def leaf_hash(self, index: int) -> str | None:
        """Return the stored leaf hash of an entry."""
        ...
