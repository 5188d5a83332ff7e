"""The transaction in which an allowed effect begins: claims, key, intent or proposal, and the entry that says so.

- The key's slot is taken in the same transaction as the effect begins, so one key starts one effect.
- A slot that is taken already starts nothing: the caller is told what became of the first request (`replays`). Only
  the slot of an effect that is known not to have happened passes on to this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.governed import GovernedRequest
from negotiator.model.records import Intent, KeyUse, Principal, Proposal, ProposalState
from negotiator.ports import Tx
from negotiator.services.approvals import Consented
from negotiator.services.callers import Caller
from negotiator.services.keys import has_key, key_use
from negotiator.services.recording import claim_members
from negotiator.services.replays import Repeated, earlier, record_repetition

__all__ = ["Begun", "Effect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An effect that has begun.

    Attributes:
        decision_id: of the entry that was written.
        proposal_id: the proposal that waits; empty where the site is to be called.
        keyed: it has taken the slot of an idempotency key.
    """

    decision_id: str
    proposal_id: str = ""
    keyed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One allowed request outside [read], before its transaction.

    Attributes:
        claim: makes true, inside the unit, what the decision stood on.
        members: what the decision was, for the entry.
        proposal_id: the id of the proposal that it becomes; empty for an effect at the site.
        consumed: the facts that it uses up.
        given: the approval that covers it, if the policies asked for consent; its use is spent with the effect.
    """

    request: GovernedRequest
    caller: Caller
    claim: Callable[[Tx], None]
    principal: Principal
    decision_id: str
    members: Mapping[str, EntryValue]
    proposal_id: str = ""
    consumed: tuple[str, ...] = ()
    given: Consented = Consented()  # noqa: RUF009 - a frozen value

    def begin(self, tx: Tx) -> Begun | Repeated:
        """The unit.

        Raises:
            ClaimFailed: something that the decision stood on is not what it was.
        """
        self.claim(tx)
        use = self._key_use(tx)
        if use and (repeated := self._taken(tx, use)):
            return repeated
        self.given.spend(tx, self.decision_id)
        claims = claim_members(self.caller, use, approval_id=self.given.approval_id)
        if self.proposal_id:
            tx.proposals.add(self._proposal(tx))
            own = {"proposal_id": self.proposal_id, "state": ProposalState.PENDING.value}
            tx.append(self._draft(EntryKind.PROPOSAL, own | claims))
        else:
            tx.intents.open(self._intent(tx))
            tx.append(self._draft(EntryKind.INTENT, claims))
        return Begun(decision_id=self.decision_id, proposal_id=self.proposal_id, keyed=use is not None)

    def _key_use(self, tx: Tx) -> KeyUse | None:
        """Return the use of the key; where denials do not bind, a key that was used must not deny either."""
        if not self.request.rule.binds or not has_key(self.request, self.caller):
            return None
        return key_use(
            self.request,
            self.caller,
            decision_id=self.decision_id,
            at=tx.now,
            proposal_id=self.proposal_id,
            consumed=self.consumed,
        )

    def _taken(self, tx: Tx, use: KeyUse) -> Repeated | None:
        """Take the key's slot; or say what became of the request that has it."""
        taken = tx.idempotency.take(use)
        if taken is None:
            return None
        before = earlier(tx, taken, use.fingerprint)
        if before.released and tx.idempotency.pass_on(use, decision_id=taken.decision_id):
            return None
        return record_repetition(tx, before, use, caller=self.caller, members=self.members)

    def _draft(self, kind: EntryKind, own: Mapping[str, EntryValue]) -> EntryDraft:
        return EntryDraft(kind=kind, members={**self.members, **own, "decision_id": self.decision_id})

    def _intent(self, tx: Tx) -> Intent:
        return Intent(
            decision_id=self.decision_id,
            owner=tx.owner,
            lease_seq=0,
            principal_type=self.principal.type,
            subject=self.principal.id,
            action=self.request.rule.action,
            opened_at=tx.now,
        )

    def _proposal(self, tx: Tx) -> Proposal:
        request = self.request
        return Proposal(
            proposal_id=self.proposal_id,
            decision_id=self.decision_id,
            subject=self.caller.identity.subject,
            resource=request.rule.resource.name,
            state=ProposalState.PENDING,
            held={"method": request.method, "target": request.target, "content_type": request.content_type},
            body=request.body,
            body_sha256=request.body_sha256,
            created_at=tx.now,
        )
