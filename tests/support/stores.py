"""What tests of the store stand on: a clock that is set by hand, records that are whole, and the invariant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

from negotiator.ledger import ChainReport, verify_chain
from negotiator.model.consents import BINDS_OF_SCOPE, Approval, Binding, ConsentRequest, ConsentState
from negotiator.model.entries import EntryDraft, EntryKind, EntryPosition
from negotiator.model.evidence import Evidence, EvidenceIssuer, EvidenceLink, evidence_id
from negotiator.model.facts import AgentFacts, DeclaredFacts
from negotiator.model.keys import SigningKey
from negotiator.model.levels import Level
from negotiator.model.people import Assurance, Factor, FactorKind, Password, Person, Session
from negotiator.model.records import (
    Agent,
    Credential,
    Intent,
    KeyUse,
    Negotiation,
    Proposal,
    ProposalState,
    SiteCredential,
    StoredAnswer,
)
from negotiator.model.tasks import Task, TaskState
from negotiator.ports import Tx
from negotiator.store import SqlStore

START = datetime(2026, 5, 4, 3, 2, 1, 6, tzinfo=UTC)
HASH = "ab" * 32


class HandClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.wall = now
        self.seconds = 0.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def move(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.seconds += seconds


def draft(**members: object) -> EntryDraft:
    return EntryDraft(kind=EntryKind.ADMIN, members=members)


def appending(**members: object) -> Callable[[Tx], EntryPosition]:
    return lambda tx: tx.append(draft(**members))


def verified(store: SqlStore) -> ChainReport:
    """The invariant: what is in the ledger is one chain, as long as its head says."""
    return store.read_sync(
        lambda reader: verify_chain(reader.ledger.lines(), project="site", expected_entries=reader.ledger.size())
    )


@contextmanager
def held_writer(store: SqlStore) -> Iterator[None]:
    """Keep the writer inside a unit, so that whatever is submitted meanwhile shares the next batch."""
    entered, leave = Event(), Event()

    def wait(_tx: Tx) -> None:
        entered.set()
        assert leave.wait(30)

    holder = Thread(target=store.transact_sync, args=(wait,))
    holder.start()
    assert entered.wait(30)
    try:
        yield
    finally:
        leave.set()
        holder.join(30)


async def handed_over() -> None:
    """Return when what was started before has reached the writer: a turn to run it, a turn to gather it."""
    for _ in range(3):
        await asyncio.sleep(0)


def agent(agent_id: str = "a1", name: str = "crawler", max_level: Level = Level.L3) -> Agent:
    return Agent(agent_id=agent_id, name=name, max_level=max_level, operated_by="ana", created_at=START)


def signing_key(key_id: str = "k1") -> SigningKey:
    return SigningKey(key_id=key_id, purpose="token", public="AA", created_at=START)


def credential(credential_id: str = "c1", agent_id: str = "a1") -> Credential:
    return Credential(credential_id=credential_id, agent_id=agent_id, verifier=HASH, created_at=START)


def negotiation(negotiation_id: str = "n1", **changes: object) -> Negotiation:
    values: dict[str, object] = {
        "negotiation_id": negotiation_id,
        "subject": "agent:a1",
        "identity_kind": "api_token",
        "credential_id": "c1",
        "digest": HASH,
        "strict": False,
        "declared_level": Level.L4,
        "effective_level": Level.L3,
        "principal": AgentFacts(subject="agent:a1", kind="api_token", verified=True, max_level=3, can_post_data=True),
        "declared": DeclaredFacts(
            profile_matches=True, declared_evidence=frozenset({"provenance", "audit_log"}), consents_write=True
        ),
        "body": {"z": [1, 2.5, None, True], "a": {"β": "\u2028 \x00 \U0001f600", "big": 2**53 - 1}, "m": ""},
        "bundle_digest": HASH,
        "key_id": "k1",
        "issued_at": START,
        "expires_at": START + timedelta(hours=1),
    }
    return Negotiation(**values | changes)  # type: ignore[arg-type]


def person(user_id: str = "u1", name: str = "ada", *roles: str) -> Person:
    return Person(
        user_id=user_id,
        name=name,
        person=name,
        roles=frozenset(roles or ("admin", "approver")),
        locale="",
        created_at=START,
    )


def password(user_id: str = "u1", *, one_time: bool = True) -> Password:
    return Password(user_id=user_id, verifier="v1", one_time=one_time, spent=False, changed_at=START)


def factor(factor_id: str = "f1", user_id: str = "u1", **changes: object) -> Factor:
    values: dict[str, object] = {
        "kind": FactorKind.WEBAUTHN if changes.get("credential_id") else FactorKind.TOTP,
        "label": "phone",
        "secret": "sealed",
        "credential_id": "",
        "counter": 0,
        "created_at": START,
    }
    return Factor(factor_id=factor_id, user_id=user_id, **values | changes)  # type: ignore[arg-type]


def session(session_sha256: str = HASH, user_id: str = "u1", **changes: object) -> Session:
    values: dict[str, object] = {
        "assurance": Assurance.PASSWORD,
        "csrf_secret": "c" * 43,
        "created_at": START,
        "last_seen": START,
        "stepped_up_at": START,
    }
    return Session(session_sha256=session_sha256, user_id=user_id, **values | changes)  # type: ignore[arg-type]


def intent(decision_id: str = "d1") -> Intent:
    return Intent(
        decision_id=decision_id,
        owner="o1",
        lease_seq=0,
        principal_type="Agent",
        subject="agent:a1",
        action="post",
        opened_at=START,
    )


def key_use(decision_id: str = "d1", **changes: str) -> KeyUse:
    values = {
        "subject": "agent:a1",
        "method": "POST",
        "route": "POST /comments",
        "key_sha256": HASH,
        "fingerprint": HASH,
        "proposal_id": "",
    }
    return KeyUse(decision_id=decision_id, used_at=START, **values | changes)


def stored_answer(decision_id: str = "d1", **changes: object) -> StoredAnswer:
    values: dict[str, object] = {
        "decision_id": decision_id,
        "status": 201,
        "headers": (("content-type", "text/plain"), ("link", "</ü>"), ("link", "</b>")),
        "body": bytes(range(256)),
        "stored_at": START,
    }
    return StoredAnswer(**values | changes)  # type: ignore[arg-type]


def site_credential(credential_id: str = "s1", name: str = "worker") -> SiteCredential:
    return SiteCredential(credential_id=credential_id, name=name, verifier=HASH, created_at=START)


def proposal(proposal_id: str = "p1", **changes: object) -> Proposal:
    values: dict[str, object] = {
        "proposal_id": proposal_id,
        "decision_id": "d1",
        "subject": "agent:a1",
        "resource": "memory",
        "state": ProposalState.PENDING,
        "held": {"method": "POST", "target": "/memory?x=%00", "content_type": "application/json"},
        "body": bytes(range(256)),
        "body_sha256": HASH,
        "created_at": START,
    }
    return Proposal(**values | changes)  # type: ignore[arg-type]


BOUND = {
    "principal": "agent:a1", "actor": "ana", "action": "post", "resource": "Resource:comments",
    "authority": "example.org", "method": "POST", "target": "/comments?x=%00", "content_type": "text/plain",
    "content_encoding": "", "body": HASH, "site_account": "", "bound_headers": {"x-tenant": "blue"},
}  # fmt: skip


def consent_request(request_id: str = "q1", **changes: object) -> ConsentRequest:
    values: dict[str, object] = {
        "request_id": request_id,
        "subject": "agent:a1",
        "agent_id": "a1",
        "negotiation_id": "n1",
        "action": "post",
        "resource_type": "Resource",
        "resource": "comments",
        "scope": "exact",
        "uses": 2,
        "values": BOUND,
        "digest": Binding(BOUND).digest(BINDS_OF_SCOPE["exact"]),
        "body": bytes(range(256)),
        "body_bytes": 256,
        "reason": "because \u202e \U0001f600",
        "correlation_id": "c-1",
        "match_code": "K7QD-3M2X",
        "state": ConsentState.PENDING,
        "created_at": START,
        "expires_at": START + timedelta(hours=1),
    }
    return ConsentRequest(**values | changes)  # type: ignore[arg-type]


def approval(approval_id: str = "v1", **changes: object) -> Approval:
    values: dict[str, object] = {
        "approval_id": approval_id,
        "request_id": "q1",
        "subject": "agent:a1",
        "action": "post",
        "resource_type": "Resource",
        "resource": "comments",
        "scope": "exact",
        "binds": list(BINDS_OF_SCOPE["exact"]),
        "values": BOUND,
        "digest": Binding(BOUND).digest(BINDS_OF_SCOPE["exact"]),
        "approver": "ada",
        "approver_name": "Ada",
        "roles": ["approver"],
        "assurance": 3,
        "uses": 2,
        "uses_left": 2,
        "bundle_digest": HASH,
        "display_digest": HASH,
        "epoch": 1,
        "granted_at": START,
        "expires_at": START + timedelta(minutes=15),
    }
    return Approval(**values | changes)  # type: ignore[arg-type]


def task(task_id: str = "t1", **changes: object) -> Task:
    values: dict[str, object] = {
        "decision_id": "d1",
        "subject": "agent:a1",
        "correlation_id": "c-1",
        "state": TaskState.ACCEPTED,
        "progress": None,
        "note": "",
        "timeout_ms": 60_000,
        "fallback": "single requests",
        "outcome": "",
        "report_id": "",
        "created_at": START,
        "changed_at": START,
        "expires_at": START + timedelta(hours=1),
        "due_at": START + timedelta(minutes=1),
        "ended_at": None,
    }
    return Task(task_id=task_id, **values | changes)  # type: ignore[arg-type]


def evidence(content: bytes = b"what was done") -> Evidence:
    return Evidence.of(content, "text/plain", START)


def evidence_link(content: bytes = b"what was done", **changes: str) -> EvidenceLink:
    values = {"subject": "agent:a1", "kind": "provenance", "origin": "self", "issuer_id": "", "uploader": "agent:a1"}
    return EvidenceLink(evidence_id=evidence_id(content), created_at=START, **values | changes)  # type: ignore[arg-type]


def issuer(key_id: str = "i1", name: str = "validator") -> EvidenceIssuer:
    return EvidenceIssuer(key_id=key_id, name=name, public="AA", kinds=("validator_output",), created_at=START)
