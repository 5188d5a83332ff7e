"""The tables, for every database that the store runs on.

Rules:

- `project_id` is in every table and first in every key: one database may hold many projects, none sees another.
- Types are portable and hold exactly what is put in: times are the ledger's fixed-width UTC text (it sorts like the
  time and keeps microseconds), digests are hex, JSON is text in the order it was made, bytes are bytes.
- Lengths are bounded. SQLite does not keep to them by itself, so `rows.py` does before a row is written.
- A ledger entry is its exact line; the other columns repeat members that queries look for and prove nothing.
- `ledger_entries` is a rowid table on SQLite: lines are too long for a clustered index.

A change here needs a migration; a test compares the two.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

__all__ = [
    "agents",
    "approval_uses",
    "approvals",
    "consent_requests",
    "credentials",
    "evidence",
    "evidence_issuers",
    "evidence_links",
    "factors",
    "idempotency",
    "intents",
    "ledger_entries",
    "ledger_head",
    "metadata",
    "negotiations",
    "passwords",
    "project_state",
    "projects",
    "proposals",
    "sessions",
    "signing_keys",
    "site_credentials",
    "stored_answers",
    "tasks",
    "users",
]

metadata = MetaData()


def _text(length: int) -> String:
    """Return the type of a text of at most `length` characters that compares by code points on every database."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


_ID = _text(64)
_NAME = _text(200)
_SUBJECT = _text(256)
_ROUTE = _text(1024)
_WORD = _text(32)
_SHA256 = _text(64)
_CONTENT_ID = _text(71)
_TIME = _text(27)
_CREDENTIAL = _text(1_364)


projects = Table(
    "projects",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("created_at", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", name="pk_projects"),
)
"""Whose rows there are. Everything else belongs to one of these."""


project_state = Table(
    "project_state",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("name", _WORD, nullable=False),
    Column("value", Text, nullable=False),
    Column("changed_at", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", "name", name="pk_project_state"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_project_state_projects"),
)
"""What was in force when it was last recorded, so that a change is noticed, also across restarts."""


agents = Table(
    "agents",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("agent_id", _ID, nullable=False),
    Column("name", _NAME, nullable=False),
    Column("max_level", Integer, nullable=False),
    Column("operated_by", _NAME, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("revoked_at", _TIME),
    PrimaryKeyConstraint("project_id", "agent_id", name="pk_agents"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_agents_projects"),
)
"""Agents that operators registered."""

Index(
    "uq_agents_name",
    agents.c.project_id,
    agents.c.name,
    unique=True,
    sqlite_where=agents.c.revoked_at.is_(None),
    postgresql_where=agents.c.revoked_at.is_(None),
)


credentials = Table(
    "credentials",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("credential_id", _ID, nullable=False),
    Column("agent_id", _ID, nullable=False),
    Column("verifier", _SHA256, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("revoked_at", _TIME),
    PrimaryKeyConstraint("project_id", "credential_id", name="pk_credentials"),
    ForeignKeyConstraint(
        ["project_id", "agent_id"], ["agents.project_id", "agents.agent_id"], name="fk_credentials_agents"
    ),
)
"""API tokens; `verifier` is a keyed hash, the secret is nowhere."""

Index("ix_credentials_agent", credentials.c.project_id, credentials.c.agent_id)


negotiations = Table(
    "negotiations",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("negotiation_id", _ID, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("identity_kind", _WORD, nullable=False),
    Column("credential_id", _ID, nullable=False),
    Column("digest", _SHA256, nullable=False),
    Column("strict", Boolean, nullable=False),
    Column("declared_level", Integer, nullable=False),
    Column("effective_level", Integer, nullable=False),
    Column("principal", Text, nullable=False),
    Column("declared", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("bundle_digest", _SHA256, nullable=False),
    Column("key_id", _ID, nullable=False),
    Column("issued_at", _TIME, nullable=False),
    Column("expires_at", _TIME, nullable=False),
    Column("ended_at", _TIME),
    PrimaryKeyConstraint("project_id", "negotiation_id", name="pk_negotiations"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_negotiations_projects"),
)
"""Answers to declarations. `credential_id` is empty for anonymous callers, and no row of ours for foreign identities
(OAuth, signatures), so it references nothing."""

Index("ix_negotiations_identical", negotiations.c.project_id, negotiations.c.credential_id, negotiations.c.digest)
Index("ix_negotiations_expiry", negotiations.c.project_id, negotiations.c.expires_at)
Index("ix_negotiations_subject", negotiations.c.project_id, negotiations.c.subject, negotiations.c.issued_at)


intents = Table(
    "intents",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("decision_id", _ID, nullable=False),
    Column("owner", _ID, nullable=False),
    Column("lease_seq", BigInteger, nullable=False),
    Column("principal_type", _WORD, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("action", _WORD, nullable=False),
    Column("opened_at", _TIME, nullable=False),
    Column("ended_at", _TIME),
    Column("end", _WORD),
    Column("settled", _WORD),
    PrimaryKeyConstraint("project_id", "decision_id", name="pk_intents"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_intents_projects"),
)
"""Effects. Open until `ended_at`; `owner` is the process that waits for the outcome, `lease_seq` its heartbeat."""

Index(
    "ix_intents_open",
    intents.c.project_id,
    intents.c.owner,
    sqlite_where=intents.c.ended_at.is_(None),
    postgresql_where=intents.c.ended_at.is_(None),
)


idempotency = Table(
    "idempotency",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("method", _WORD, nullable=False),
    Column("route", _ROUTE, nullable=False),
    Column("key_sha256", _SHA256, nullable=False),
    Column("fingerprint", _SHA256, nullable=False),
    Column("decision_id", _ID, nullable=False),
    Column("proposal_id", _ID, nullable=False),
    Column("used_at", _TIME, nullable=False),
    Column("consumed", _text(256), nullable=False, server_default=""),
    PrimaryKeyConstraint("project_id", "subject", "method", "route", "key_sha256", name="pk_idempotency"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_idempotency_projects"),
)
"""Idempotency keys that were used; the primary key is the slot. `proposal_id` is empty for an effect at the site."""

Index("ix_idempotency_used", idempotency.c.project_id, idempotency.c.used_at)


stored_answers = Table(
    "stored_answers",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("decision_id", _ID, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("stored_at", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", "decision_id", name="pk_stored_answers"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_stored_answers_projects"),
)
"""Answers of the site to effects that had a key, to be given again."""

Index("ix_stored_answers_stored", stored_answers.c.project_id, stored_answers.c.stored_at)


site_credentials = Table(
    "site_credentials",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("credential_id", _ID, nullable=False),
    Column("name", _NAME, nullable=False),
    Column("verifier", _SHA256, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("revoked_at", _TIME),
    PrimaryKeyConstraint("project_id", "credential_id", name="pk_site_credentials"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_site_credentials_projects"),
)
"""Tokens of the site itself; `verifier` is a keyed hash, the secret is nowhere."""


proposals = Table(
    "proposals",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("proposal_id", _ID, nullable=False),
    Column("decision_id", _ID, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("resource", _SUBJECT, nullable=False),
    Column("state", _WORD, nullable=False),
    Column("held", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("body_sha256", _SHA256, nullable=False),
    Column("created_at", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", "proposal_id", name="pk_proposals"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_proposals_projects"),
)
"""Memory writes that wait for a human, with the request as it would have reached the site."""

Index("ix_proposals_subject", proposals.c.project_id, proposals.c.subject, proposals.c.created_at)


signing_keys = Table(
    "signing_keys",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("key_id", _ID, nullable=False),
    Column("purpose", _WORD, nullable=False),
    Column("public", _SHA256, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("rotated_at", _TIME),
    Column("retired_at", _TIME),
    PrimaryKeyConstraint("project_id", "key_id", name="pk_signing_keys"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_signing_keys_projects"),
)
"""Public halves of the keys of all hosts; the private ones are in files."""


consent_requests = Table(
    "consent_requests",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("request_id", _ID, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("agent_id", _ID, nullable=False),
    Column("negotiation_id", _ID, nullable=False),
    Column("action", _WORD, nullable=False),
    Column("resource_type", _WORD, nullable=False),
    Column("resource", _SUBJECT, nullable=False),
    Column("scope", _WORD, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("values", Text, nullable=False),
    Column("digest", _SHA256, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("body_bytes", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("correlation_id", _SUBJECT, nullable=False),
    Column("match_code", _WORD, nullable=False),
    Column("state", _WORD, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("expires_at", _TIME, nullable=False),
    Column("not_after", _TIME),
    Column("ended_at", _TIME),
    Column("ended_by", _SUBJECT, nullable=False),
    Column("approval_id", _ID, nullable=False),
    PrimaryKeyConstraint("project_id", "request_id", name="pk_consent_requests"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_consent_requests_projects"),
)
"""What agents ask people for. `body` is kept to be shown, never to be run."""

Index(
    "ix_consent_requests_state", consent_requests.c.project_id, consent_requests.c.state, consent_requests.c.expires_at
)
Index(
    "ix_consent_requests_subject",
    consent_requests.c.project_id,
    consent_requests.c.subject,
    consent_requests.c.created_at,
)


approvals = Table(
    "approvals",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("approval_id", _ID, nullable=False),
    Column("request_id", _ID, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("action", _WORD, nullable=False),
    Column("resource_type", _WORD, nullable=False),
    Column("resource", _SUBJECT, nullable=False),
    Column("scope", _WORD, nullable=False),
    Column("binds", Text, nullable=False),
    Column("values", Text, nullable=False),
    Column("digest", _SHA256, nullable=False),
    Column("approver", _SUBJECT, nullable=False),
    Column("approver_name", _SUBJECT, nullable=False),
    Column("roles", Text, nullable=False),
    Column("assurance", Integer, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("uses_left", Integer, nullable=False),
    Column("bundle_digest", _SHA256, nullable=False),
    Column("display_digest", _SHA256, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("granted_at", _TIME, nullable=False),
    Column("expires_at", _TIME, nullable=False),
    Column("revoked_at", _TIME),
    Column("revoked_by", _SUBJECT, nullable=False),
    PrimaryKeyConstraint("project_id", "approval_id", name="pk_approvals"),
    ForeignKeyConstraint(
        ["project_id", "request_id"],
        ["consent_requests.project_id", "consent_requests.request_id"],
        name="fk_approvals_consent_requests",
    ),
)
"""What people gave. `uses_left` is spent by one conditional statement in the unit of the effect."""


approval_uses = Table(
    "approval_uses",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("approval_id", _ID, nullable=False),
    Column("decision_id", _ID, nullable=False),
    Column("used_at", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", "approval_id", "decision_id", name="pk_approval_uses"),
    ForeignKeyConstraint(
        ["project_id", "approval_id"],
        ["approvals.project_id", "approvals.approval_id"],
        name="fk_approval_uses_approvals",
    ),
)
"""Which decisions spent an approval."""


users = Table(
    "users",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("user_id", _ID, nullable=False),
    Column("name", _ID, nullable=False),
    Column("person", _NAME, nullable=False),
    Column("roles", _NAME, nullable=False),
    Column("locale", _WORD, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("disabled_at", _TIME),
    PrimaryKeyConstraint("project_id", "user_id", name="pk_users"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_users_projects"),
)
"""Accounts of people. A name is given once and for ever; nobody is deleted."""

Index("uq_users_name", users.c.project_id, users.c.name, unique=True)


passwords = Table(
    "passwords",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("user_id", _ID, nullable=False),
    Column("verifier", _SUBJECT, nullable=False),
    Column("one_time", Boolean, nullable=False),
    Column("spent", Boolean, nullable=False),
    Column("changed_at", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", "user_id", name="pk_passwords"),
    ForeignKeyConstraint(["project_id", "user_id"], ["users.project_id", "users.user_id"], name="fk_passwords_users"),
)
"""Argon2id verifiers of passwords; the passwords are nowhere."""


factors = Table(
    "factors",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("factor_id", _ID, nullable=False),
    Column("user_id", _ID, nullable=False),
    Column("kind", _WORD, nullable=False),
    Column("label", _ID, nullable=False),
    Column("secret", Text, nullable=False),
    Column("credential_id", _CREDENTIAL, nullable=False),
    Column("counter", BigInteger, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("used_at", _TIME),
    PrimaryKeyConstraint("project_id", "factor_id", name="pk_factors"),
    ForeignKeyConstraint(["project_id", "user_id"], ["users.project_id", "users.user_id"], name="fk_factors_users"),
)
"""Second factors. The secret of a one-time code is sealed with a key that lies outside the database."""

Index("ix_factors_user", factors.c.project_id, factors.c.user_id)
Index(
    "uq_factors_credential",
    factors.c.project_id,
    factors.c.credential_id,
    unique=True,
    sqlite_where=factors.c.credential_id != "",
    postgresql_where=factors.c.credential_id != "",
)


sessions = Table(
    "sessions",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("session_sha256", _SHA256, nullable=False),
    Column("user_id", _ID, nullable=False),
    Column("assurance", Integer, nullable=False),
    Column("csrf_secret", _ID, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("last_seen", _TIME, nullable=False),
    Column("stepped_up_at", _TIME, nullable=False),
    Column("bound_object", _SHA256, nullable=False),
    Column("bound_at", _TIME),
    Column("ended_at", _TIME),
    PrimaryKeyConstraint("project_id", "session_sha256", name="pk_sessions"),
    ForeignKeyConstraint(["project_id", "user_id"], ["users.project_id", "users.user_id"], name="fk_sessions_users"),
)
"""Browsers in which somebody is signed in; the id is nowhere, only its digest."""

Index("ix_sessions_user", sessions.c.project_id, sessions.c.user_id, sessions.c.created_at)
Index("ix_sessions_created", sessions.c.project_id, sessions.c.created_at)
tasks = Table(
    "tasks",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("task_id", _ID, nullable=False),
    Column("decision_id", _ID, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("correlation_id", _SUBJECT, nullable=False),
    Column("state", _WORD, nullable=False),
    Column("progress", Integer),
    Column("note", Text, nullable=False),
    Column("timeout_ms", BigInteger, nullable=False),
    Column("fallback", Text, nullable=False),
    Column("outcome", _WORD, nullable=False),
    Column("report_id", _CONTENT_ID, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("changed_at", _TIME, nullable=False),
    Column("expires_at", _TIME, nullable=False),
    Column("due_at", _TIME),
    Column("ended_at", _TIME),
    PrimaryKeyConstraint("project_id", "task_id", name="pk_tasks"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_tasks_projects"),
)
"""Long tasks. `due_at` is when time moves one next; one that has ended has none."""

Index("ix_tasks_subject", tasks.c.project_id, tasks.c.subject, tasks.c.task_id)
Index("ix_tasks_decision", tasks.c.project_id, tasks.c.decision_id)
Index(
    "ix_tasks_due",
    tasks.c.project_id,
    tasks.c.due_at,
    sqlite_where=tasks.c.due_at.is_not(None),
    postgresql_where=tasks.c.due_at.is_not(None),
)


evidence = Table(
    "evidence",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("evidence_id", _CONTENT_ID, nullable=False),
    Column("media_type", _SUBJECT, nullable=False),
    Column("size", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("created_at", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", "evidence_id", name="pk_evidence"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_evidence_projects"),
)
"""Content that was handed in, named by its digest. Who may use it is in `evidence_links`."""


evidence_links = Table(
    "evidence_links",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("evidence_id", _CONTENT_ID, nullable=False),
    Column("subject", _SUBJECT, nullable=False),
    Column("kind", _WORD, nullable=False),
    Column("origin", _WORD, nullable=False),
    Column("issuer_id", _ID, nullable=False),
    Column("uploader", _SUBJECT, nullable=False),
    Column("created_at", _TIME, nullable=False),
    PrimaryKeyConstraint(
        "project_id", "evidence_id", "subject", "kind", "origin", "issuer_id", name="pk_evidence_links"
    ),
    ForeignKeyConstraint(
        ["project_id", "evidence_id"],
        ["evidence.project_id", "evidence.evidence_id"],
        name="fk_evidence_links_evidence",
    ),
)
"""For whom evidence counts, as what, on whose word. `issuer_id` is empty unless somebody signed it."""

Index("ix_evidence_links_subject", evidence_links.c.project_id, evidence_links.c.subject, evidence_links.c.created_at)
Index("ix_evidence_links_uploader", evidence_links.c.project_id, evidence_links.c.uploader)


evidence_issuers = Table(
    "evidence_issuers",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("key_id", _ID, nullable=False),
    Column("name", _NAME, nullable=False),
    Column("public", _SHA256, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("revoked_at", _TIME),
    PrimaryKeyConstraint("project_id", "key_id", name="pk_evidence_issuers"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_evidence_issuers_projects"),
)
"""Keys whose signatures operators take as somebody's word, and on what."""


ledger_head = Table(
    "ledger_head",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("prev", _SHA256, nullable=False),
    Column("time", _TIME, nullable=False),
    PrimaryKeyConstraint("project_id", name="pk_ledger_head"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_ledger_head_projects"),
)
"""One row a project: where its next entry goes. Every write of the project passes this row."""


ledger_entries = Table(
    "ledger_entries",
    metadata,
    Column("project_id", _ID, nullable=False),
    Column("index", BigInteger, nullable=False),
    Column("time", _TIME, nullable=False),
    Column("kind", _WORD, nullable=False),
    Column("decision_id", _ID),
    Column("subject", _SUBJECT),
    Column("action", _WORD),
    Column("line", LargeBinary, nullable=False),
    Column("leaf_hash", _SHA256, nullable=False),
    PrimaryKeyConstraint("project_id", "index", name="pk_ledger_entries"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_ledger_entries_projects"),
)
"""The ledger. The primary key is the second line against a forked chain; the head row is the first."""
