"""The aggregates of one project on one cursor: `ports.aggregates` in SQL.

Readers and units use the same classes; a reader's connection refuses changes, and its ports do not offer them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

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
from negotiator.model.times import format_time
from negotiator.store import statements
from negotiator.store.hot import Row, Sql
from negotiator.store.rows import (
    AGENT,
    APPROVAL,
    APPROVAL_USE,
    CONSENT_REQUEST,
    CREDENTIAL,
    EVIDENCE,
    EVIDENCE_ISSUER,
    EVIDENCE_LINK,
    INTENT,
    KEY_USE,
    NEGOTIATION,
    PROPOSAL,
    SIGNING_KEY,
    SITE_CREDENTIAL,
    STORED_ANSWER,
    TASK,
    RowShape,
)

__all__ = [
    "AgentRows",
    "ApprovalRows",
    "ConsentRows",
    "EvidenceRows",
    "IdempotencyRows",
    "IntentRows",
    "KeyRows",
    "NegotiationRows",
    "ProposalRows",
    "SiteCredentialRows",
    "StateRows",
    "TaskRows",
]

T = TypeVar("T")


def _one(shape: RowShape[T], row: Row | None) -> T | None:
    return None if row is None else shape.from_row(row)


def _all(shape: RowShape[T], rows: Sequence[Row]) -> tuple[T, ...]:
    return tuple(shape.from_row(row) for row in rows)


class _Rows:
    """What every aggregate stands on."""

    __slots__ = ("_project", "_sql")

    def __init__(self, sql: Sql, project: str) -> None:
        self._sql = sql
        self._project = project


class AgentRows(_Rows):
    """Agents and credentials (`AgentReads`, `AgentWrites`)."""

    __slots__ = ()

    def with_credential(self, credential_id: str) -> tuple[Agent, Credential] | None:
        """Return the agent and the credential, also when either is revoked."""
        row = self._sql.row(statements.AGENT_WITH_CREDENTIAL, of_project=self._project, credential_id=credential_id)
        if row is None:
            return None
        cut = len(AGENT.columns)
        return AGENT.from_row(row[:cut]), CREDENTIAL.from_row(row[cut:])

    def named(self, name: str) -> Agent | None:
        """Return the agent of that name that is not revoked."""
        return _one(AGENT, self._sql.row(statements.AGENT_NAMED, of_project=self._project, name=name))

    def all(self) -> tuple[Agent, ...]:
        """Return every agent, by creation."""
        return _all(AGENT, self._sql.rows(statements.AGENTS, of_project=self._project))

    def add(self, agent: Agent, credential: Credential) -> bool:
        """Store both; False if an unrevoked agent already has the name."""
        rows = AGENT.to_row(self._project, agent), CREDENTIAL.to_row(self._project, credential)
        if self._sql.changed(statements.ADD_AGENT, **rows[0]) != 1:
            return False
        self._sql.run(statements.ADD_CREDENTIAL, **rows[1])
        return True

    def revoke(self, name: str, at: datetime) -> Agent | None:
        """Revoke the agent of that name and its credentials, and return it as it is now."""
        agent = self.named(name)
        if agent is None:
            return None
        values = {"of_project": self._project, "of_agent": agent.agent_id, "at": format_time(at)}
        self._sql.run(statements.REVOKE_AGENT, **values)
        self._sql.run(statements.REVOKE_CREDENTIALS, **values)
        return replace(agent, revoked_at=at)

    def claim_credential(self, credential_id: str, max_level: Level) -> bool:
        """Claim: neither the credential nor its agent is revoked, and the agent's cap is still `max_level`."""
        found = self._sql.row(
            statements.CLAIM_CREDENTIAL,
            of_project=self._project,
            credential_id=credential_id,
            max_level=int(max_level),
        )
        return found is not None


class NegotiationRows(_Rows):
    """Negotiations (`NegotiationWrites`)."""

    __slots__ = ()

    def get(self, negotiation_id: str) -> Negotiation | None:
        """Return the negotiation, also when it has ended or expired."""
        row = self._sql.row(statements.NEGOTIATION, of_project=self._project, of_negotiation=negotiation_id)
        return _one(NEGOTIATION, row)

    def identical(self, *, credential_id: str, digest: str, strict: bool, at: datetime) -> Negotiation | None:
        """Return the newest live negotiation of the same declaration under the same credential."""
        row = self._sql.row(
            statements.IDENTICAL_NEGOTIATION,
            of_project=self._project,
            credential_id=credential_id,
            digest=digest,
            strict=strict,
            at=format_time(at),
        )
        return _one(NEGOTIATION, row)

    def of_subject(self, subject: str, at: datetime) -> tuple[Negotiation, ...]:
        """Return the live negotiations of `subject`, newest first, at most 100."""
        rows = self._sql.rows(
            statements.NEGOTIATIONS_OF_SUBJECT, of_project=self._project, subject=subject, at=format_time(at)
        )
        return _all(NEGOTIATION, rows)

    def add(self, negotiation: Negotiation) -> None:
        """Store it."""
        self._sql.run(statements.ADD_NEGOTIATION, **NEGOTIATION.to_row(self._project, negotiation))

    def end(self, negotiation_id: str, at: datetime) -> bool:
        """End it; False if it was not live."""
        values = self._live(negotiation_id, at)
        return self._sql.changed(statements.END_NEGOTIATION, new_ended_at=values["at"], **values) == 1

    def is_live(self, negotiation_id: str, at: datetime) -> bool:
        """Whether it has neither ended nor expired."""
        return self._sql.row(statements.CLAIM_NEGOTIATION, **self._live(negotiation_id, at)) is not None

    def claim_live(self, negotiation_id: str, at: datetime) -> bool:
        """Claim: it has neither ended nor expired."""
        return self.is_live(negotiation_id, at)

    def claim_room(self, subject: str, most: int, at: datetime, *, since: datetime) -> bool:
        """Claim: of those that `subject` was given since then, fewer than `most` are live."""
        row = self._sql.row(
            statements.COUNT_LIVE_NEGOTIATIONS,
            of_project=self._project,
            subject=subject,
            since=format_time(since),
            at=format_time(at),
        )
        return row is not None and row[0] < most

    def forget(self, before: datetime, most: int) -> int:
        """Delete those that expired before then, at most `most`, the oldest first; return how many."""
        values = {"of_project": self._project, "before": format_time(before), "most": most}
        return self._sql.changed(statements.FORGET_NEGOTIATIONS, **values)

    def _live(self, negotiation_id: str, at: datetime) -> dict[str, Any]:
        return {"of_project": self._project, "of_negotiation": negotiation_id, "at": format_time(at)}


class KeyRows(_Rows):
    """Signing keys (`KeyWrites`)."""

    __slots__ = ()

    def all(self) -> tuple[SigningKey, ...]:
        """Return every key, retired ones too, by creation."""
        return _all(SIGNING_KEY, self._sql.rows(statements.SIGNING_KEYS, of_project=self._project))

    def add(self, key: SigningKey) -> bool:
        """Store it; False if it is there already."""
        return self._sql.changed(statements.ADD_SIGNING_KEY, **SIGNING_KEY.to_row(self._project, key)) == 1

    def claim_usable(self, key_id: str) -> bool:
        """Claim: it is known and not retired."""
        return self._sql.row(statements.CLAIM_SIGNING_KEY, of_project=self._project, of_key=key_id) is not None

    def rotate(self, key_id: str, at: datetime) -> bool:
        """Let it verify only; False if it did not sign any more."""
        values = {"of_project": self._project, "of_key": key_id, "at": format_time(at)}
        return self._sql.changed(statements.ROTATE_SIGNING_KEY, **values) == 1

    def retire(self, key_id: str, at: datetime) -> bool:
        """Retire it and end every negotiation whose token it has signed; False if it was retired or is unknown."""
        values = {"of_project": self._project, "of_key": key_id}
        if self._sql.changed(statements.RETIRE_SIGNING_KEY, at=format_time(at), **values) != 1:
            return False
        self._sql.run(statements.END_NEGOTIATIONS_OF_KEY, new_ended_at=format_time(at), **values)
        return True


class IntentRows(_Rows):
    """Effects between intent and outcome (`IntentReads`, `IntentWrites`)."""

    __slots__ = ()

    def open(self, intent: Intent) -> None:
        """Store it."""
        self._sql.run(statements.OPEN_INTENT, **INTENT.to_row(self._project, intent))

    def close(self, decision_id: str, end: OutcomeEnd, at: datetime, *, called: bool) -> Closing:
        """Record the outcome of an open or an interrupted effect."""
        values = {
            "of_project": self._project,
            "of_decision": decision_id,
            "new_end": end.value,
            "new_ended_at": format_time(at),
            "new_settled": None if called else Settled.NOT_DONE.value,
        }
        if self._sql.changed(statements.CLOSE_INTENT, **values) == 1:
            return Closing.FIRST
        return self._correct(values)

    def _correct(self, values: dict[str, str | None]) -> Closing:
        """Give what was interrupted its true end; of what was settled, its own process knows better."""
        known = self.get(str(values["of_decision"]))
        if known is None or known.end is not OutcomeEnd.INTERRUPTED:
            return Closing.NONE
        if known.settled is not None:
            values = values | {"new_settled": values["new_settled"] or Settled.DONE.value}
        self._sql.run(statements.CORRECT_INTENT, **values)
        return Closing.LATE if known.settled is None else Closing.CONTRADICTED

    def settle(self, decision_id: str, settled: Settled) -> bool:
        """Claim and settle: it was interrupted, and nobody has settled it."""
        values = {"of_project": self._project, "of_decision": decision_id, "new_settled": settled.value}
        return self._sql.changed(statements.SETTLE_INTENT, **values) == 1

    def interrupt(self, intent: Intent, at: datetime) -> bool:
        """Claim and end: it is open, and its owner has not raised its lease since `intent` was read."""
        changed = self._sql.changed(
            statements.INTERRUPT_INTENT,
            of_project=self._project,
            of_decision=intent.decision_id,
            of_owner=intent.owner,
            old_lease_seq=intent.lease_seq,
            new_ended_at=format_time(at),
            new_end=OutcomeEnd.INTERRUPTED.value,
        )
        return changed == 1

    def renew(self, owner: str) -> None:
        """Raise the lease of every open intent of `owner`."""
        self._sql.run(statements.RENEW_INTENTS, of_project=self._project, of_owner=owner)

    def get(self, decision_id: str) -> Intent | None:
        """Return the intent, open or ended."""
        return _one(INTENT, self._sql.row(statements.INTENT, of_project=self._project, of_decision=decision_id))

    def of_others(self, owner: str) -> tuple[Intent, ...]:
        """Return the oldest open intents of other processes, at most 5,000."""
        rows = self._sql.rows(statements.OPEN_INTENTS_OF_OTHERS, of_project=self._project, of_owner=owner)
        return _all(INTENT, rows)

    def unfinished(self) -> tuple[Intent, ...]:
        """Return what is open, or interrupted and not settled, newest first, at most 1,000."""
        return _all(INTENT, self._sql.rows(statements.UNFINISHED_INTENTS, of_project=self._project))

    def open_count(self) -> int:
        """Return how many effects have no outcome yet."""
        return int(self._sql.rows(statements.COUNT_OPEN_INTENTS, of_project=self._project)[0][0])


class StateRows(_Rows):
    """What was in force when it was last recorded (`StateWrites`)."""

    __slots__ = ()

    def get(self, name: str) -> str | None:
        """Return the value; None if it was never recorded."""
        row = self._sql.row(statements.STATE, of_project=self._project, of_name=name)
        return None if row is None else str(row[0])

    def put(self, name: str, value: str, at: datetime) -> None:
        """Record it."""
        known = self._sql.changed(
            statements.CHANGE_STATE,
            of_project=self._project,
            of_name=name,
            new_value=value,
            new_changed_at=format_time(at),
        )
        if not known:
            row = {"project_id": self._project, "name": name, "value": value, "changed_at": format_time(at)}
            self._sql.run(statements.ADD_STATE, **row)


class IdempotencyRows(_Rows):
    """Idempotency keys and the answers that are kept for them (`IdempotencyReads`, `IdempotencyWrites`)."""

    __slots__ = ()

    def take(self, use: KeyUse) -> KeyUse | None:
        """Take the slot and return None; or return the use that has it already, and change nothing."""
        if self._sql.changed(statements.TAKE_KEY, **KEY_USE.to_row(self._project, use)) == 1:
            return None
        return self.find(use)

    def find(self, slot: KeySlot) -> KeyUse | None:
        """Return the use that has the slot."""
        return _one(KEY_USE, self._sql.row(statements.KEY_USE, of_project=self._project, **_slot(slot)))

    def pass_on(self, use: KeyUse, *, decision_id: str) -> bool:
        """Claim and give: the slot belongs to the use of `decision_id`; from now on it belongs to `use`."""
        row = KEY_USE.to_row(self._project, use)
        changed = self._sql.changed(
            statements.PASS_KEY_ON,
            of_project=self._project,
            old_decision=decision_id,
            new_fingerprint=row["fingerprint"],
            new_decision=row["decision_id"],
            new_proposal=row["proposal_id"],
            new_used_at=row["used_at"],
            new_consumed=row["consumed"],
            **{f"of_{name}": value for name, value in _slot(use).items()},
        )
        return changed == 1

    def answer(self, decision_id: str) -> StoredAnswer | None:
        """Return the answer that is kept of that effect."""
        row = self._sql.row(statements.STORED_ANSWER, of_project=self._project, of_decision=decision_id)
        return _one(STORED_ANSWER, row)

    def keep(self, answer: StoredAnswer) -> None:
        """Store it."""
        self._sql.run(statements.KEEP_ANSWER, **STORED_ANSWER.to_row(self._project, answer))

    def forget(self, before: datetime) -> None:
        """Delete what is older, a bounded number; what is not decided yet stays."""
        values = {"of_project": self._project, "before": format_time(before)}
        self._sql.run(statements.FORGET_KEYS, **values)
        self._sql.run(statements.FORGET_ANSWERS, **values)


def _slot(slot: KeySlot) -> dict[str, str]:
    return {
        "subject": slot.subject,
        "method": slot.method,
        "route": slot.route,
        "key_sha256": slot.key_sha256,
    }


class SiteCredentialRows(_Rows):
    """The site's own credentials (`SiteCredentialReads`, `SiteCredentialWrites`)."""

    __slots__ = ()

    def get(self, credential_id: str) -> SiteCredential | None:
        """Return it, also when it is revoked."""
        row = self._sql.row(statements.SITE_CREDENTIAL, of_project=self._project, of_credential=credential_id)
        return _one(SITE_CREDENTIAL, row)

    def all(self) -> tuple[SiteCredential, ...]:
        """Return every one, by creation."""
        return _all(SITE_CREDENTIAL, self._sql.rows(statements.SITE_CREDENTIALS, of_project=self._project))

    def add(self, credential: SiteCredential) -> bool:
        """Store it; False if an unrevoked one already has the name."""
        row = SITE_CREDENTIAL.to_row(self._project, credential)
        return self._sql.changed(statements.ADD_SITE_CREDENTIAL, **row) == 1

    def revoke(self, name: str, at: datetime) -> SiteCredential | None:
        """Revoke the one of that name, and return it as it is now."""
        found = next((each for each in self.all() if each.name == name and each.revoked_at is None), None)
        if found is None:
            return None
        values = {"of_project": self._project, "of_credential": found.credential_id, "at": format_time(at)}
        self._sql.run(statements.REVOKE_SITE_CREDENTIAL, **values)
        return replace(found, revoked_at=at)

    def claim_active(self, credential_id: str) -> bool:
        """Claim: it is known and not revoked."""
        values = {"of_project": self._project, "of_credential": credential_id}
        return self._sql.row(statements.CLAIM_SITE_CREDENTIAL, **values) is not None


class ProposalRows(_Rows):
    """Memory proposals (`ProposalWrites`)."""

    __slots__ = ()

    def get(self, proposal_id: str) -> Proposal | None:
        """Return the proposal."""
        row = self._sql.row(statements.PROPOSAL, of_project=self._project, of_proposal=proposal_id)
        return _one(PROPOSAL, row)

    def of_subject(self, subject: str) -> tuple[Proposal, ...]:
        """Return the proposals of `subject`, newest first, at most 100."""
        rows = self._sql.rows(statements.PROPOSALS_OF_SUBJECT, of_project=self._project, subject=subject)
        return _all(PROPOSAL, rows)

    def add(self, proposal: Proposal) -> None:
        """Store it."""
        self._sql.run(statements.ADD_PROPOSAL, **PROPOSAL.to_row(self._project, proposal))


class ConsentRows(_Rows):
    """Consent requests (`ConsentWrites`)."""

    __slots__ = ()

    def get(self, request_id: str) -> ConsentRequest | None:
        """Return the request, whatever its state."""
        row = self._sql.row(statements.CONSENT_REQUEST, of_project=self._project, of_request=request_id)
        return _one(CONSENT_REQUEST, row)

    def newest(self) -> tuple[ConsentRequest, ...]:
        """Return the newest requests, at most 100."""
        return _all(CONSENT_REQUEST, self._sql.rows(statements.CONSENT_REQUESTS, of_project=self._project))

    def of_digests(self, subject: str, digests: Sequence[str]) -> ConsentRequest | None:
        """Return the newest request of `subject` with one of the digests (one to three), whatever its state."""
        three = (*digests, digests[0], digests[0])
        row = self._sql.row(
            statements.CONSENT_REQUEST_OF_DIGEST,
            of_project=self._project,
            subject=subject,
            digest_1=three[0],
            digest_2=three[1],
            digest_3=three[2],
        )
        return _one(CONSENT_REQUEST, row)

    def denied_since(
        self, subject: str, *, action: str, resource_type: str, resource: str, since: datetime
    ) -> ConsentRequest | None:
        """Return the last request of that kind that was denied after `since`."""
        row = self._sql.row(
            statements.CONSENT_DENIED,
            of_project=self._project,
            subject=subject,
            of_action=action,
            of_type=resource_type,
            of_resource=resource,
            since=format_time(since),
        )
        return _one(CONSENT_REQUEST, row)

    def add(self, request: ConsentRequest) -> None:
        """Store it."""
        self._sql.run(statements.ADD_CONSENT_REQUEST, **CONSENT_REQUEST.to_row(self._project, request))

    def pending_of(self, subject: str) -> int:
        """Return how many requests of `subject` wait."""
        rows = self._sql.rows(statements.COUNT_PENDING_CONSENTS_OF, of_project=self._project, subject=subject)
        return int(rows[0][0])

    def pending(self) -> int:
        """Return how many requests wait in all."""
        return int(self._sql.rows(statements.COUNT_PENDING_CONSENTS, of_project=self._project)[0][0])

    def due(self, at: datetime) -> tuple[ConsentRequest, ...]:
        """Return requests that still wait and whose time is over, at most 100."""
        rows = self._sql.rows(statements.CONSENT_REQUESTS_DUE, of_project=self._project, at=format_time(at))
        return _all(CONSENT_REQUEST, rows)

    def end(self, request_id: str, state: ConsentState, *, at: datetime, by: str = "", approval_id: str = "") -> bool:
        """End a request that waits; False if it does not wait any more."""
        changed = self._sql.changed(
            statements.END_CONSENT_REQUEST,
            of_project=self._project,
            of_request=request_id,
            new_state=state.value,
            new_ended_at=format_time(at),
            new_ended_by=by,
            new_approval=approval_id,
        )
        return changed == 1


class ApprovalRows(_Rows):
    """Approvals (`ApprovalWrites`)."""

    __slots__ = ()

    def get(self, approval_id: str) -> Approval | None:
        """Return the approval, also when it is spent, revoked or expired."""
        row = self._sql.row(statements.APPROVAL, of_project=self._project, of_approval=approval_id)
        return _one(APPROVAL, row)

    def uses_of(self, approval_id: str) -> tuple[ApprovalUse, ...]:
        """Return what spent it, oldest first, at most 100."""
        rows = self._sql.rows(statements.APPROVAL_USES, of_project=self._project, of_approval=approval_id)
        return _all(APPROVAL_USE, rows)

    def add(self, approval: Approval) -> None:
        """Store it."""
        self._sql.run(statements.ADD_APPROVAL, **APPROVAL.to_row(self._project, approval))

    def claim_holds(self, approval_id: str, digest: str, *, epoch: int, at: datetime) -> bool:
        """Claim: it covers `digest`, has a use left, and is neither revoked nor expired nor of another epoch."""
        return self._sql.row(statements.CLAIM_APPROVAL, **self._holding(approval_id, digest, epoch, at)) is not None

    def spend(self, approval_id: str, digest: str, *, decision_id: str, epoch: int, at: datetime) -> bool:
        """Claim the same and take one use, in one statement."""
        if self._sql.changed(statements.SPEND_APPROVAL, **self._holding(approval_id, digest, epoch, at)) != 1:
            return False
        use = ApprovalUse(approval_id=approval_id, decision_id=decision_id, used_at=at)
        self._sql.run(statements.USE_APPROVAL, **APPROVAL_USE.to_row(self._project, use))
        return True

    def revoke(self, approval_id: str, *, at: datetime, by: str) -> bool:
        """Revoke it; False if it was revoked already or is unknown."""
        changed = self._sql.changed(
            statements.REVOKE_APPROVAL,
            of_project=self._project,
            of_approval=approval_id,
            new_revoked_at=format_time(at),
            new_revoked_by=by,
        )
        return changed == 1

    def _holding(self, approval_id: str, digest: str, epoch: int, at: datetime) -> dict[str, Any]:
        return {
            "of_project": self._project,
            "of_approval": approval_id,
            "of_digest": digest,
            "of_epoch": epoch,
            "at": format_time(at),
        }


class TaskRows(_Rows):
    """Long tasks (`TaskWrites`)."""

    __slots__ = ()

    def get(self, task_id: str) -> Task | None:
        """Return the task."""
        return _one(TASK, self._sql.row(statements.TASK, of_project=self._project, of_task=task_id))

    def of_decision(self, decision_id: str) -> Task | None:
        """Return the task that a decision let begin."""
        return _one(TASK, self._sql.row(statements.TASK_OF_DECISION, of_project=self._project, of_decision=decision_id))

    def of_subject(self, subject: str) -> tuple[Task, ...]:
        """Return the tasks of `subject`, newest first, at most 100."""
        return _all(TASK, self._sql.rows(statements.TASKS_OF_SUBJECT, of_project=self._project, subject=subject))

    def all(self) -> tuple[Task, ...]:
        """Return the tasks of every agent, newest first, at most 1,000."""
        return _all(TASK, self._sql.rows(statements.TASKS, of_project=self._project))

    def add(self, task: Task) -> None:
        """Store it, and forget the oldest ended ones of its subject beyond 1,000."""
        self._sql.run(statements.ADD_TASK, **TASK.to_row(self._project, task))
        self._sql.run(statements.FORGET_TASKS, of_project=self._project, subject=task.subject)

    def change(self, old: Task, new: Task) -> bool:
        """Claim and change: the task is still in the state of `old`."""
        row = TASK.to_row(self._project, new)
        changing = ("state", "progress", "note", "outcome", "report_id", "changed_at", "due_at", "ended_at")
        changed = self._sql.changed(
            statements.CHANGE_TASK,
            of_project=self._project,
            of_task=old.task_id,
            old_state=old.state.value,
            **{f"new_{name}": row[name] for name in changing},
        )
        return changed == 1

    def due(self, at: datetime) -> tuple[Task, ...]:
        """Return the tasks that time moves by then, those first that were due first, at most 500."""
        return _all(TASK, self._sql.rows(statements.DUE_TASKS, of_project=self._project, at=format_time(at)))

    def open_count(self, subject: str) -> int:
        """Return how many tasks of `subject` have not ended."""
        return int(self._sql.rows(statements.COUNT_OPEN_TASKS, of_project=self._project, subject=subject)[0][0])


class EvidenceRows(_Rows):
    """Evidence, its links and issuers (`EvidenceWrites`)."""

    __slots__ = ()

    def get(self, evidence_id: str) -> Evidence | None:
        """Return the content."""
        return _one(EVIDENCE, self._sql.row(statements.EVIDENCE, of_project=self._project, of_evidence=evidence_id))

    def links(self, evidence_id: str, subject: str) -> tuple[EvidenceLink, ...]:
        """Return the links by which `subject` may use it now."""
        rows = self._sql.rows(
            statements.EVIDENCE_LINKS_OF, of_project=self._project, of_evidence=evidence_id, subject=subject
        )
        return _all(EVIDENCE_LINK, rows)

    def all_links(self) -> tuple[EvidenceLink, ...]:
        """Return every link, newest first, at most 1,000."""
        return _all(EVIDENCE_LINK, self._sql.rows(statements.EVIDENCE_LINKS, of_project=self._project))

    def issuers(self) -> tuple[EvidenceIssuer, ...]:
        """Return every issuer, revoked ones too, by creation."""
        return _all(EVIDENCE_ISSUER, self._sql.rows(statements.EVIDENCE_ISSUERS, of_project=self._project))

    def add(self, evidence: Evidence, link: EvidenceLink) -> bool:
        """Store the content if it is new, and the link; False if the link is there already."""
        self._sql.run(statements.ADD_EVIDENCE, **EVIDENCE.to_row(self._project, evidence))
        return self._sql.changed(statements.ADD_EVIDENCE_LINK, **EVIDENCE_LINK.to_row(self._project, link)) == 1

    def withdraw(self, evidence_id: str, uploader: str) -> int:
        """Drop what `uploader` linked to it, and the content where no link is left; return how many links went."""
        values = {"of_project": self._project, "of_evidence": evidence_id}
        gone = self._sql.changed(statements.DROP_EVIDENCE_LINKS, uploader=uploader, **values)
        if gone:
            self._sql.run(statements.DROP_UNLINKED_EVIDENCE, **values)
        return gone

    def used(self, uploader: str) -> tuple[int, int]:
        """Return how many links an uploader has made, and how many bytes are behind them."""
        [(count, size)] = self._sql.rows(statements.COUNT_EVIDENCE, of_project=self._project, uploader=uploader)
        return int(count), int(size)

    def claim(self, link: EvidenceLink) -> bool:
        """Claim: there is such a link, and its issuer, if it has one, is not revoked."""
        found = self._sql.row(
            statements.CLAIM_EVIDENCE,
            of_project=self._project,
            of_evidence=link.evidence_id,
            subject=link.subject,
            kind=link.kind,
            origin=link.origin,
        )
        return found is not None

    def claim_issuer(self, key_id: str) -> bool:
        """Claim: the issuer is known and not revoked."""
        return self._sql.row(statements.CLAIM_EVIDENCE_ISSUER, of_project=self._project, of_key=key_id) is not None

    def add_issuer(self, issuer: EvidenceIssuer) -> bool:
        """Store it; False if its key is there already."""
        return self._sql.changed(statements.ADD_EVIDENCE_ISSUER, **EVIDENCE_ISSUER.to_row(self._project, issuer)) == 1

    def revoke_issuer(self, key_id: str, at: datetime) -> bool:
        """Revoke it; False if it was revoked or is unknown."""
        values = {"of_project": self._project, "of_key": key_id, "at": format_time(at)}
        return self._sql.changed(statements.REVOKE_EVIDENCE_ISSUER, **values) == 1
