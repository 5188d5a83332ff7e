"""What a request hears whose idempotency key was used before.

What the slot says, for the same request (another one is `idempotency_mismatch`, whatever became of the first):

    a proposal was filed                          the same 202 again
    the site is being called                      `idempotency_in_flight`
    interrupted, and nobody knows                 `outcome_unknown`, until it is settled
    settled as done                               `idempotency_answer_not_stored`
    settled as not done, or never called          the slot passes on: the request runs
    ended, and its answer is kept                 that answer again
    ended, and no answer is kept                  `idempotency_answer_not_stored`

Rules:

- A repetition is decided like any request, with what the first one has used up taken as met. An answer is given again
  only to whom the request would be allowed now.
- What is told stands in the ledger: a `replay` for what is given again, a denying `decision` for the rest.
- What was read before the transaction is read again in it; if it has changed, the request is decided again.
- A key and its answer are forgotten together, a bounded number at a time; a key of which nobody knows what came of
  it never is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Protocol

from negotiator.errors import ClaimFailed
from negotiator.model.decisions import Decision, Query
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.governed import GovernedRequest, Refusal, Verdict
from negotiator.model.levels import Level
from negotiator.model.records import Intent, KeyUse, OutcomeEnd, Settled, StoredAnswer
from negotiator.ports import Chore, IdempotencyReads, IntentReads, Reader, Store, Tx
from negotiator.services.callers import Caller
from negotiator.services.keys import fingerprint, key_slot, key_use
from negotiator.services.recording import claim_members

__all__ = [
    "KEY_UNCHANGED",
    "Earlier",
    "Repeated",
    "Repetition",
    "Replays",
    "earlier",
    "forgetting",
    "goes_before",
    "record_repetition",
    "taken_as_met",
]

KEY_UNCHANGED: Final = "key_unchanged"
_SWEEP_SECONDS: Final = 5.0

_BEFORE_KEYS: Final = frozenset({"declaration_required", "refused", "policy_error"})
"""Codes of decisions in rows 1 and 3 of the table of refusals: they are told before anything about a key."""

_DETAILS: Final[Mapping[str, str]] = {
    "idempotency_mismatch": "this idempotency key was used for another request; take a new key for a new request",
    "idempotency_in_flight": "the first request with this key is still under way; wait for its answer",
    "idempotency_answer_not_stored": "the request with this key has reached the site; its answer is not kept",
    "outcome_unknown": "the request with this key was begun, and nobody knows yet whether it was carried out",
}


class _Aggregates(Protocol):
    """What a reader and a unit both have."""

    @property
    def intents(self) -> IntentReads: ...
    @property
    def idempotency(self) -> IdempotencyReads: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What has become of the request that took a key.

    Attributes:
        code: what a repetition is refused with; empty where it is given something again, or may run.
        answer: what it is given again.
        released: nothing was done: the slot passes on to whoever asks next.
    """

    use: KeyUse
    code: str = ""
    answer: StoredAnswer | None = None
    released: bool = False


def earlier(at: _Aggregates, use: KeyUse, again: str) -> Earlier:
    """Return what has become of the request behind `use`, for one whose fingerprint is `again`."""
    if use.fingerprint != again:
        return Earlier(use=use, code="idempotency_mismatch")
    if use.proposal_id:
        return Earlier(use=use)
    match at.intents.get(use.decision_id):
        case Intent(settled=Settled.NOT_DONE):
            return Earlier(use=use, released=True)
        case Intent(ended_at=None):
            return Earlier(use=use, code="idempotency_in_flight")
        case Intent(end=OutcomeEnd.INTERRUPTED, settled=None):
            return Earlier(use=use, code="outcome_unknown")
        case _:
            answer = at.idempotency.answer(use.decision_id)
            return Earlier(use=use, answer=answer, code="" if answer else "idempotency_answer_not_stored")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """What a repetition was told; it was recorded in the same transaction."""

    decision_id: str
    before: Earlier

    def verdict(self, level: Level | None, *, missing: Refusal | None = None) -> Verdict:
        """Return what the enforcement point does now.

        Args:
            level: the effective level.
            missing: the refusal of the repetition itself, where it lacks something; its obligations are told, too.
        """
        told = Verdict(kind="refuse", decision_id=self.decision_id, level=level)
        if self.before.code:
            return replace(told, refusal=self._refusal(missing))
        if self.before.use.proposal_id:
            return replace(told, kind="hold", proposal_id=self.before.use.proposal_id, replayed=True)
        return replace(told, kind="replay", answer=self.before.answer, replayed=True)

    def _refusal(self, missing: Refusal | None) -> Refusal:
        code = self.before.code
        return replace(
            missing or Refusal(code=code, detail=""),
            code=code,
            detail=_DETAILS[code],
            decision_id=self.decision_id,
            next_action="",
            retry_after_seconds=1 if code == "idempotency_in_flight" else 0,
            effect_id=self.before.use.decision_id,
        )


def record_repetition(
    tx: Tx, before: Earlier, use: KeyUse, *, caller: Caller, members: Mapping[str, EntryValue]
) -> Repeated:
    """Write the entry of a request that is told what became of an earlier one.

    Args:
        tx: the unit's.
        before: what became of it.
        use: the use that the repetition would have made of the key.
        caller: who asks again.
        members: what the decision on the repetition was.
    """
    own: dict[str, EntryValue] = {
        **members,
        "decision_id": use.decision_id,
        "first_decision_id": before.use.decision_id,
        **claim_members(caller, use),
    }
    if before.code:
        tx.append(EntryDraft(kind=EntryKind.DECISION, members=own | {"decision": "deny", "code": before.code}))
    elif before.answer:
        tx.append(EntryDraft(kind=EntryKind.REPLAY, members=own | {"status": before.answer.status}))
    else:
        tx.append(EntryDraft(kind=EntryKind.REPLAY, members=own | {"proposal_id": before.use.proposal_id}))
    return Repeated(decision_id=use.decision_id, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A request whose key was found used before its transaction.

    Attributes:
        claim: makes true, inside the unit, what the decision stood on.
        members: what the decision was, for the entry.
        before: what was found.
    """

    request: GovernedRequest
    caller: Caller
    claim: Callable[[Tx], None]
    decision_id: str
    members: Mapping[str, EntryValue]
    before: Earlier

    def record(self, tx: Tx) -> Repeated:
        """The unit.

        Raises:
            ClaimFailed: something that the decision stood on is not what it was; `key_unchanged`, if it is the key.
        """
        self.claim(tx)
        use = key_use(self.request, self.caller, decision_id=self.decision_id, at=tx.now)
        taken = tx.idempotency.find(use)
        if taken is None or earlier(tx, taken, use.fingerprint) != self.before:
            raise ClaimFailed(KEY_UNCHANGED)
        return record_repetition(tx, self.before, use, caller=self.caller, members=self.members)


def taken_as_met(query: Query, before: Earlier) -> Query:
    """Return the question with what the earlier request has used up taken as met; a mismatch has nothing to take."""
    if not before.use.consumed or before.code == "idempotency_mismatch":
        return query
    met: dict[str, Any] = dict.fromkeys(before.use.consumed, True)
    return replace(query, request=replace(query.request, **met))


def goes_before(before: Earlier, decision: Decision) -> bool:
    """Whether a denied repetition is told of its key instead of what it lacks."""
    return bool(before.code) and decision.code not in _BEFORE_KEYS


def forgetting(lifetime: timedelta) -> Chore:
    """Return what the store attends to: keys and answers are deleted when they have been kept for `lifetime`."""
    return Chore(
        name="idempotency",
        every_seconds=_SWEEP_SECONDS,
        unit=lambda tx: tx.idempotency.forget(tx.now - lifetime),
    )


class Replays:
    """Keys that were used.

    Args:
        store: of the project.
        max_answer_bytes: larger answers of the site are not kept; 0 keeps answers without a body only.
    """

    def __init__(self, store: Store, *, max_answer_bytes: int) -> None:
        self._store = store
        self.max_answer_bytes = max_answer_bytes

    async def find(self, request: GovernedRequest, caller: Caller) -> Earlier | None:
        """Return what became of an earlier request with the key of this one; None where the key is free.

        Raises:
            UnavailableError: the store cannot be read.
        """
        slot, again = key_slot(request, caller), fingerprint(request)

        def query(reader: Reader) -> Earlier | None:
            taken = reader.idempotency.find(slot)
            return earlier(reader, taken, again) if taken else None

        found = await self._store.read(query)
        return None if found is None or found.released else found
