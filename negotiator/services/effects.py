"""The transaction in which an allowed effect begins: claims, key, intent or proposal, and the entry that says so.

- The key's slot is taken in the same transaction as the effect begins, so one key starts one effect.
- A slot that is taken already starts nothing: the same memory write again is told of the proposal that is there
  (a `replay` entry), everything else is refused (a `decision` entry).
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
from negotiator.services.keys import key_use, taken_code
from negotiator.services.recording import claim_members

__all__ = ["Begun", "Effect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What came of an allowed effect.

    Attributes:
        decision_id: of the entry that was written.
        proposal_id: the proposal that waits; empty where the site is to be called.
        replayed: the proposal was filed by an earlier request with the same key.
        refused: the code of a key that was taken already; empty otherwise.
        first_decision_id: of the request that took the key.
    """

    decision_id: str
    proposal_id: str = ""
    replayed: bool = False
    refused: str = ""
    first_decision_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One allowed request outside [read], before its transaction.

    Attributes:
        claim: makes true, inside the unit, what the decision stood on.
        members: what the decision was, for the entry.
        proposal_id: the id of the proposal that it becomes; empty for an effect at the site.
        given: the approval that covers it, if the policies asked for consent; its use is spent with the effect.
    """

    request: GovernedRequest
    caller: Caller
    claim: Callable[[Tx], None]
    principal: Principal
    decision_id: str
    members: Mapping[str, EntryValue]
    proposal_id: str = ""
    given: Consented = Consented()  # noqa: RUF009 - a frozen value

    def begin(self, tx: Tx) -> Begun:
        """The unit.

        Raises:
            ClaimFailed: something that the decision stood on is not what it was.
        """
        self.claim(tx)
        use = self._key_use(tx)
        taken = tx.idempotency.take(use) if use else None
        if use and taken:
            return self._again(tx, taken, use)
        self.given.spend(tx, self.decision_id)
        claims = claim_members(self.caller, use, approval_id=self.given.approval_id)
        if self.proposal_id:
            tx.proposals.add(self._proposal(tx))
            own = {"proposal_id": self.proposal_id, "state": ProposalState.PENDING.value}
            tx.append(self._draft(EntryKind.PROPOSAL, own | claims))
        else:
            tx.intents.open(self._intent(tx))
            tx.append(self._draft(EntryKind.INTENT, claims))
        return Begun(decision_id=self.decision_id, proposal_id=self.proposal_id)

    def _key_use(self, tx: Tx) -> KeyUse | None:
        """Return the use of the key; where denials do not bind, a key that was used must not deny either."""
        if not self.request.rule.binds:
            return None
        return key_use(tx, self.request, self.caller, decision_id=self.decision_id, proposal_id=self.proposal_id)

    def _again(self, tx: Tx, taken: KeyUse, use: KeyUse) -> Begun:
        code = taken_code(tx, taken, use)
        again = {"first_decision_id": taken.decision_id, **claim_members(self.caller, use)}
        if taken.proposal_id and code != "idempotency_mismatch":
            tx.append(self._draft(EntryKind.REPLAY, again | {"proposal_id": taken.proposal_id}))
            return Begun(decision_id=self.decision_id, proposal_id=taken.proposal_id, replayed=True)
        tx.append(self._draft(EntryKind.DECISION, again | {"decision": "deny", "code": code}))
        return Begun(decision_id=self.decision_id, refused=code, first_decision_id=taken.decision_id)

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
