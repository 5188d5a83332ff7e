"""Every statement that the store runs, in SQLAlchemy Core.

Rules:

- Each names its project. Parameters of conditions end in nothing that a column is called in the same change.
- What must be unique is written by a conditional insert, what must hold is claimed by a conditional statement; a
  constraint is the second line and never control flow.
- The head row is locked (`FOR UPDATE`, where the database has it) before anything else of a batch is read.
"""

from __future__ import annotations

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)

from negotiator.store.tables import (
    agents,
    approval_uses,
    approvals,
    consent_requests,
    credentials,
    evidence,
    evidence_issuers,
    evidence_links,
    factors,
    idempotency,
    intents,
    ledger_entries,
    ledger_head,
    negotiations,
    passwords,
    project_state,
    projects,
    proposals,
    sessions,
    signing_keys,
    site_credentials,
    stored_answers,
    tasks,
    users,
)

__all__ = [
    "ADD_AGENT",
    "ADD_APPROVAL",
    "ADD_CONSENT_REQUEST",
    "ADD_CREDENTIAL",
    "ADD_ENTRY",
    "ADD_EVIDENCE",
    "ADD_EVIDENCE_ISSUER",
    "ADD_EVIDENCE_LINK",
    "ADD_FACTOR",
    "ADD_HEAD",
    "ADD_NEGOTIATION",
    "ADD_PASSWORD",
    "ADD_PROJECT",
    "ADD_PROPOSAL",
    "ADD_SESSION",
    "ADD_SIGNING_KEY",
    "ADD_SITE_CREDENTIAL",
    "ADD_STATE",
    "ADD_TASK",
    "ADD_USER",
    "ADVANCE_FACTOR",
    "AGENTS",
    "AGENT_NAMED",
    "AGENT_WITH_CREDENTIAL",
    "APPROVAL",
    "APPROVAL_USES",
    "CHANGE_PASSWORD",
    "CHANGE_STATE",
    "CHANGE_TASK",
    "CHANGE_USER",
    "CLAIM_APPROVAL",
    "CLAIM_CREDENTIAL",
    "CLAIM_EVIDENCE",
    "CLAIM_EVIDENCE_ISSUER",
    "CLAIM_NEGOTIATION",
    "CLAIM_PASSWORD",
    "CLAIM_SESSION",
    "CLAIM_SIGNING_KEY",
    "CLAIM_SITE_CREDENTIAL",
    "CLOSE_INTENT",
    "CONSENT_DENIED",
    "CONSENT_REQUEST",
    "CONSENT_REQUESTS",
    "CONSENT_REQUESTS_DUE",
    "CONSENT_REQUEST_OF_DIGEST",
    "CORRECT_INTENT",
    "COUNT_EVIDENCE",
    "COUNT_LIVE_NEGOTIATIONS",
    "COUNT_OPEN_INTENTS",
    "COUNT_OPEN_TASKS",
    "COUNT_PENDING_CONSENTS",
    "COUNT_PENDING_CONSENTS_OF",
    "DROP_EVIDENCE_LINKS",
    "DROP_UNLINKED_EVIDENCE",
    "DUE_TASKS",
    "END_CONSENT_REQUEST",
    "END_CONSENT_REQUESTS",
    "END_NEGOTIATION",
    "END_NEGOTIATIONS",
    "END_NEGOTIATIONS_OF_KEY",
    "END_SESSION",
    "END_SESSIONS",
    "END_SESSIONS_OF_USER",
    "ENTRY_LEAF_HASH",
    "ENTRY_LINES",
    "EVIDENCE",
    "EVIDENCE_ISSUERS",
    "EVIDENCE_LINKS",
    "EVIDENCE_LINKS_OF",
    "FACTORS_OF_USER",
    "FORGET_ANSWERS",
    "FORGET_KEYS",
    "FORGET_NEGOTIATIONS",
    "FORGET_SESSIONS",
    "FORGET_TASKS",
    "HEAD",
    "IDENTICAL_NEGOTIATION",
    "INTENT",
    "INTERRUPT_INTENT",
    "KEEP_ANSWER",
    "KEY_USE",
    "LAST_INDEX",
    "LOCK_HEAD",
    "MAX_FORGOTTEN",
    "MAX_KEPT_TASKS",
    "MAX_LISTED",
    "MAX_SWEPT",
    "MAX_UNFINISHED",
    "MOVE_HEAD",
    "NEGOTIATION",
    "NEGOTIATIONS_OF_SUBJECT",
    "OPEN_INTENT",
    "OPEN_INTENTS_OF_OTHERS",
    "PASSWORD",
    "PASS_KEY_ON",
    "PROJECT",
    "PROJECTS",
    "PROPOSAL",
    "PROPOSALS_OF_SUBJECT",
    "REHASH_PASSWORD",
    "REMOVE_FACTOR",
    "RENEW_INTENTS",
    "RETIRE_SIGNING_KEY",
    "REVOKE_AGENT",
    "REVOKE_APPROVAL",
    "REVOKE_CREDENTIALS",
    "REVOKE_EVIDENCE_ISSUER",
    "REVOKE_SITE_CREDENTIAL",
    "ROTATE_SIGNING_KEY",
    "SESSION",
    "SESSIONS_OF_USER",
    "SETTLE_INTENT",
    "SIGNING_KEYS",
    "SITE_CREDENTIAL",
    "SITE_CREDENTIALS",
    "SPEND_APPROVAL",
    "SPEND_PASSWORD",
    "STATE",
    "STORED_ANSWER",
    "TAKE_KEY",
    "TASK",
    "TASKS",
    "TASKS_OF_SUBJECT",
    "TASK_OF_DECISION",
    "TOUCH_SESSION",
    "UNFINISHED_INTENTS",
    "USER",
    "USERS",
    "USER_NAMED",
    "USE_APPROVAL",
    "USE_FACTOR",
]

MAX_LISTED = 100
"""Rows of a list that an agent can ask for."""

MAX_SWEPT = 5_000
"""Open intents of other processes that one sweep looks at, the oldest first."""

MAX_UNFINISHED = 1_000
"""Rows of the operators' list of effects without an outcome."""

MAX_FORGOTTEN = 1_000
"""Keys, and answers, that one sweep deletes, the oldest first."""

MAX_DUE = 500
"""Tasks that one sweep moves, those first that were due first."""

MAX_KEPT_TASKS = 1_000
"""Ended tasks of one agent whose rows are kept; what became of older ones is in the ledger."""


def _ours(table: Table) -> ColumnElement[bool]:
    return table.c.project_id == bindparam("of_project")


def _fields(table: Table) -> list[ColumnElement[object]]:
    return [column for column in table.c if column.name != "project_id"]


def _select(table: Table, *conditions: ColumnElement[bool]) -> Select[*tuple[object, ...]]:
    return select(*_fields(table)).where(_ours(table), *conditions)


def _values(table: Table) -> list[ColumnElement[object]]:
    return [bindparam(column.name, type_=column.type) for column in table.c]


# Projects and the ledger

PROJECT = select(projects.c.project_id).where(_ours(projects))
PROJECTS = select(projects.c.project_id).order_by(projects.c.project_id)
ADD_PROJECT = insert(projects)
ADD_HEAD = insert(ledger_head)

HEAD = _select(ledger_head)
LOCK_HEAD = HEAD.with_for_update()
MOVE_HEAD = (
    update(ledger_head)
    .where(_ours(ledger_head), ledger_head.c.size == bindparam("old_size"))
    .values(
        epoch=bindparam("new_epoch"),
        size=bindparam("new_size"),
        prev=bindparam("new_prev"),
        time=bindparam("new_time"),
    )
)
ADD_ENTRY = insert(ledger_entries)
ENTRY_LINES = (
    select(ledger_entries.c.line)
    .where(
        _ours(ledger_entries),
        ledger_entries.c.index >= bindparam("start"),
        ledger_entries.c.index < bindparam("stop"),
    )
    .order_by(ledger_entries.c.index)
)
LAST_INDEX = select(func.max(ledger_entries.c.index)).where(_ours(ledger_entries))
ENTRY_LEAF_HASH = select(ledger_entries.c.leaf_hash).where(
    _ours(ledger_entries), ledger_entries.c.index == bindparam("at_index")
)

# What was in force

STATE = select(project_state.c.value).where(_ours(project_state), project_state.c.name == bindparam("of_name"))
ADD_STATE = insert(project_state)
CHANGE_STATE = (
    update(project_state)
    .where(_ours(project_state), project_state.c.name == bindparam("of_name"))
    .values(value=bindparam("new_value"), changed_at=bindparam("new_changed_at"))
)

# Agents and credentials

_unrevoked = agents.c.revoked_at.is_(None)
_named = agents.c.name == bindparam("name")

AGENTS = _select(agents).order_by(agents.c.created_at, agents.c.agent_id)
AGENT_NAMED = _select(agents, _named, _unrevoked)
AGENT_WITH_CREDENTIAL = (
    select(*_fields(agents), *_fields(credentials))
    .join_from(
        credentials,
        agents,
        (agents.c.project_id == credentials.c.project_id) & (agents.c.agent_id == credentials.c.agent_id),
    )
    .where(_ours(credentials), credentials.c.credential_id == bindparam("credential_id"))
)
ADD_AGENT = insert(agents).from_select(
    [column.name for column in agents.c],
    select(*_values(agents)).where(~exists().where(agents.c.project_id == bindparam("project_id"), _named, _unrevoked)),
)
ADD_CREDENTIAL = insert(credentials)
REVOKE_AGENT = (
    update(agents)
    .where(_ours(agents), agents.c.agent_id == bindparam("of_agent"), _unrevoked)
    .values(revoked_at=bindparam("at"))
)
REVOKE_CREDENTIALS = (
    update(credentials)
    .where(_ours(credentials), credentials.c.agent_id == bindparam("of_agent"), credentials.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("at"))
)
CLAIM_CREDENTIAL = (
    select(literal(1))
    .select_from(credentials)
    .join(
        agents,
        (agents.c.project_id == credentials.c.project_id) & (agents.c.agent_id == credentials.c.agent_id),
    )
    .where(
        _ours(credentials),
        credentials.c.credential_id == bindparam("credential_id"),
        credentials.c.revoked_at.is_(None),
        _unrevoked,
        agents.c.max_level == bindparam("max_level"),
    )
)

# Negotiations

_this_negotiation = negotiations.c.negotiation_id == bindparam("of_negotiation")
_live = negotiations.c.ended_at.is_(None) & (negotiations.c.expires_at > bindparam("at"))
_newest_negotiation = (negotiations.c.issued_at.desc(), negotiations.c.negotiation_id.desc())

NEGOTIATION = _select(negotiations, _this_negotiation)
IDENTICAL_NEGOTIATION = (
    _select(
        negotiations,
        negotiations.c.credential_id == bindparam("credential_id"),
        negotiations.c.digest == bindparam("digest"),
        negotiations.c.strict == bindparam("strict"),
        _live,
    )
    .order_by(*_newest_negotiation)
    .limit(1)
)
NEGOTIATIONS_OF_SUBJECT = (
    _select(negotiations, negotiations.c.subject == bindparam("subject"), _live)
    .order_by(*_newest_negotiation)
    .limit(MAX_LISTED)
)
ADD_NEGOTIATION = insert(negotiations)
END_NEGOTIATION = (
    update(negotiations).where(_ours(negotiations), _this_negotiation, _live).values(ended_at=bindparam("new_ended_at"))
)
END_NEGOTIATIONS = update(negotiations).where(_ours(negotiations), _live).values(ended_at=bindparam("new_ended_at"))
END_NEGOTIATIONS_OF_KEY = (
    update(negotiations)
    .where(_ours(negotiations), negotiations.c.key_id == bindparam("of_key"), negotiations.c.ended_at.is_(None))
    .values(ended_at=bindparam("new_ended_at"))
)
CLAIM_NEGOTIATION = select(literal(1)).where(_ours(negotiations), _this_negotiation, _live)
COUNT_LIVE_NEGOTIATIONS = select(func.count()).where(
    _ours(negotiations),
    negotiations.c.subject == bindparam("subject"),
    negotiations.c.issued_at >= bindparam("since"),
    _live,
)
FORGET_NEGOTIATIONS = delete(negotiations).where(
    _ours(negotiations),
    negotiations.c.negotiation_id.in_(
        select(negotiations.c.negotiation_id)
        .where(_ours(negotiations), negotiations.c.expires_at < bindparam("before"))
        .order_by(negotiations.c.expires_at)
        .limit(bindparam("most", type_=Integer))
    ),
)

# Signing keys

_this_key = signing_keys.c.key_id == bindparam("of_key")
_unretired = signing_keys.c.retired_at.is_(None)

SIGNING_KEYS = _select(signing_keys).order_by(signing_keys.c.created_at, signing_keys.c.key_id)
ADD_SIGNING_KEY = insert(signing_keys).from_select(
    [column.name for column in signing_keys.c],
    select(*_values(signing_keys)).where(
        ~exists().where(
            signing_keys.c.project_id == bindparam("project_id"), signing_keys.c.key_id == bindparam("key_id")
        )
    ),
)
CLAIM_SIGNING_KEY = select(literal(1)).where(_ours(signing_keys), _this_key, _unretired)
ROTATE_SIGNING_KEY = (
    update(signing_keys)
    .where(_ours(signing_keys), _this_key, _unretired, signing_keys.c.rotated_at.is_(None))
    .values(rotated_at=bindparam("at"))
)
RETIRE_SIGNING_KEY = (
    update(signing_keys).where(_ours(signing_keys), _this_key, _unretired).values(retired_at=bindparam("at"))
)

# Effects

_open = intents.c.ended_at.is_(None)
_interrupted = intents.c.end == literal("interrupted")
_unknown = _interrupted & intents.c.settled.is_(None)

OPEN_INTENT = insert(intents)
CLOSE_INTENT = (
    update(intents)
    .where(_ours(intents), intents.c.decision_id == bindparam("of_decision"), _open)
    .values(ended_at=bindparam("new_ended_at"), end=bindparam("new_end"), settled=bindparam("new_settled"))
)

CORRECT_INTENT = (
    update(intents)
    .where(_ours(intents), intents.c.decision_id == bindparam("of_decision"), _interrupted)
    .values(ended_at=bindparam("new_ended_at"), end=bindparam("new_end"), settled=bindparam("new_settled"))
)
SETTLE_INTENT = (
    update(intents)
    .where(_ours(intents), intents.c.decision_id == bindparam("of_decision"), _unknown)
    .values(settled=bindparam("new_settled"))
)
INTERRUPT_INTENT = (
    update(intents)
    .where(
        _ours(intents),
        intents.c.decision_id == bindparam("of_decision"),
        intents.c.owner == bindparam("of_owner"),
        intents.c.lease_seq == bindparam("old_lease_seq"),
        _open,
    )
    .values(ended_at=bindparam("new_ended_at"), end=bindparam("new_end"))
)
RENEW_INTENTS = (
    update(intents)
    .where(_ours(intents), intents.c.owner == bindparam("of_owner"), _open)
    .values(lease_seq=intents.c.lease_seq + 1)
)
INTENT = _select(intents, intents.c.decision_id == bindparam("of_decision"))
OPEN_INTENTS_OF_OTHERS = (
    _select(intents, intents.c.owner != bindparam("of_owner"), _open)
    .order_by(intents.c.opened_at, intents.c.decision_id)
    .limit(MAX_SWEPT)
)
UNFINISHED_INTENTS = (
    _select(intents, _open | _unknown)
    .order_by(intents.c.opened_at.desc(), intents.c.decision_id.desc())
    .limit(MAX_UNFINISHED)
)
COUNT_OPEN_INTENTS = select(func.count()).select_from(intents).where(_ours(intents), _open)

# Idempotency keys

_slot = (idempotency.c.subject, idempotency.c.method, idempotency.c.route, idempotency.c.key_sha256)
_this_slot = and_(*(column == bindparam(column.name) for column in _slot))
_given_slot = and_(*(column == bindparam(f"of_{column.name}") for column in _slot))

KEY_USE = _select(idempotency, _this_slot)
TAKE_KEY = insert(idempotency).from_select(
    [column.name for column in idempotency.c],
    select(*_values(idempotency)).where(
        ~exists().where(idempotency.c.project_id == bindparam("project_id"), _this_slot)
    ),
)

PASS_KEY_ON = (
    update(idempotency)
    .where(_ours(idempotency), _given_slot, idempotency.c.decision_id == bindparam("old_decision"))
    .values(
        fingerprint=bindparam("new_fingerprint"),
        decision_id=bindparam("new_decision"),
        proposal_id=bindparam("new_proposal"),
        used_at=bindparam("new_used_at"),
        consumed=bindparam("new_consumed"),
    )
)

_old = idempotency.alias()
_undecided = exists().where(
    intents.c.project_id == _old.c.project_id, intents.c.decision_id == _old.c.decision_id, _open | _unknown
)

FORGET_KEYS = delete(idempotency).where(
    _ours(idempotency),
    tuple_(*_slot).in_(
        select(*(_old.c[column.name] for column in _slot))
        .where(_old.c.project_id == bindparam("of_project"), _old.c.used_at < bindparam("before"), ~_undecided)
        .order_by(_old.c.used_at)
        .limit(literal(MAX_FORGOTTEN))
    ),
)

# Answers that are kept

_old_answers = stored_answers.alias()

STORED_ANSWER = _select(stored_answers, stored_answers.c.decision_id == bindparam("of_decision"))
KEEP_ANSWER = insert(stored_answers)
FORGET_ANSWERS = delete(stored_answers).where(
    _ours(stored_answers),
    stored_answers.c.decision_id.in_(
        select(_old_answers.c.decision_id)
        .where(_old_answers.c.project_id == bindparam("of_project"), _old_answers.c.stored_at < bindparam("before"))
        .order_by(_old_answers.c.stored_at)
        .limit(literal(MAX_FORGOTTEN))
    ),
)

# The site's own credentials

_this_credential = site_credentials.c.credential_id == bindparam("of_credential")
_active = site_credentials.c.revoked_at.is_(None)

SITE_CREDENTIAL = _select(site_credentials, _this_credential)
SITE_CREDENTIALS = _select(site_credentials).order_by(site_credentials.c.created_at, site_credentials.c.credential_id)
CLAIM_SITE_CREDENTIAL = select(literal(1)).where(_ours(site_credentials), _this_credential, _active)
ADD_SITE_CREDENTIAL = insert(site_credentials).from_select(
    [column.name for column in site_credentials.c],
    select(*_values(site_credentials)).where(
        ~exists().where(
            site_credentials.c.project_id == bindparam("project_id"),
            site_credentials.c.name == bindparam("name"),
            _active,
        )
    ),
)
REVOKE_SITE_CREDENTIAL = (
    update(site_credentials)
    .where(_ours(site_credentials), _this_credential, _active)
    .values(revoked_at=bindparam("at"))
)

# Proposals

PROPOSAL = _select(proposals, proposals.c.proposal_id == bindparam("of_proposal"))
PROPOSALS_OF_SUBJECT = (
    _select(proposals, proposals.c.subject == bindparam("subject"))
    .order_by(proposals.c.created_at.desc(), proposals.c.proposal_id.desc())
    .limit(MAX_LISTED)
)
ADD_PROPOSAL = insert(proposals)

# Consents

_this_request = consent_requests.c.request_id == bindparam("of_request")
_pending = consent_requests.c.state == literal("pending")
_newest_request = (consent_requests.c.created_at.desc(), consent_requests.c.request_id.desc())

CONSENT_REQUEST = _select(consent_requests, _this_request)
CONSENT_REQUESTS = _select(consent_requests).order_by(*_newest_request).limit(MAX_LISTED)
CONSENT_REQUESTS_DUE = (
    _select(consent_requests, _pending, consent_requests.c.expires_at <= bindparam("at"))
    .order_by(consent_requests.c.expires_at, consent_requests.c.request_id)
    .limit(MAX_LISTED)
)
CONSENT_REQUEST_OF_DIGEST = (
    _select(
        consent_requests,
        consent_requests.c.subject == bindparam("subject"),
        consent_requests.c.digest.in_([bindparam("digest_1"), bindparam("digest_2"), bindparam("digest_3")]),
    )
    .order_by(*_newest_request)
    .limit(1)
)
CONSENT_DENIED = (
    _select(
        consent_requests,
        consent_requests.c.subject == bindparam("subject"),
        consent_requests.c.action == bindparam("of_action"),
        consent_requests.c.resource_type == bindparam("of_type"),
        consent_requests.c.resource == bindparam("of_resource"),
        consent_requests.c.state == literal("denied"),
        consent_requests.c.ended_at > bindparam("since"),
    )
    .order_by(consent_requests.c.ended_at.desc(), consent_requests.c.request_id.desc())
    .limit(1)
)
COUNT_PENDING_CONSENTS = select(func.count()).select_from(consent_requests).where(_ours(consent_requests), _pending)
COUNT_PENDING_CONSENTS_OF = COUNT_PENDING_CONSENTS.where(consent_requests.c.subject == bindparam("subject"))
ADD_CONSENT_REQUEST = insert(consent_requests)
END_CONSENT_REQUEST = (
    update(consent_requests)
    .where(_ours(consent_requests), _this_request, _pending)
    .values(
        state=bindparam("new_state"),
        ended_at=bindparam("new_ended_at"),
        ended_by=bindparam("new_ended_by"),
        approval_id=bindparam("new_approval"),
    )
)
END_CONSENT_REQUESTS = (
    update(consent_requests)
    .where(_ours(consent_requests), _pending)
    .values(state=bindparam("new_state"), ended_at=bindparam("new_ended_at"))
)

# Approvals

_this_approval = approvals.c.approval_id == bindparam("of_approval")
_holding = (
    approvals.c.revoked_at.is_(None)
    & (approvals.c.uses_left > literal(0))
    & (approvals.c.expires_at > bindparam("at"))
    & (approvals.c.digest == bindparam("of_digest"))
    & (approvals.c.epoch == bindparam("of_epoch"))
)

APPROVAL = _select(approvals, _this_approval)
ADD_APPROVAL = insert(approvals)
CLAIM_APPROVAL = select(literal(1)).where(_ours(approvals), _this_approval, _holding)
SPEND_APPROVAL = (
    update(approvals).where(_ours(approvals), _this_approval, _holding).values(uses_left=approvals.c.uses_left - 1)
)
USE_APPROVAL = insert(approval_uses)
APPROVAL_USES = (
    _select(approval_uses, approval_uses.c.approval_id == bindparam("of_approval"))
    .order_by(approval_uses.c.used_at, approval_uses.c.decision_id)
    .limit(MAX_LISTED)
)
REVOKE_APPROVAL = (
    update(approvals)
    .where(_ours(approvals), _this_approval, approvals.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("new_revoked_at"), revoked_by=bindparam("new_revoked_by"))
)

# People

_this_password = (passwords.c.user_id == bindparam("of_user")) & (passwords.c.verifier == bindparam("old_verifier"))
_this_session = sessions.c.session_sha256 == bindparam("of_session")
_unended = sessions.c.ended_at.is_(None)
_this_factor = (factors.c.factor_id == bindparam("of_factor")) & (factors.c.user_id == bindparam("of_user"))

USERS = _select(users).order_by(users.c.created_at, users.c.user_id)
USER = _select(users, users.c.user_id == bindparam("of_user"))
USER_NAMED = _select(users, users.c.name == bindparam("of_name"))
ADD_USER = insert(users).from_select(
    [column.name for column in users.c],
    select(*_values(users)).where(
        ~exists().where(users.c.project_id == bindparam("project_id"), users.c.name == bindparam("name"))
    ),
)
CHANGE_USER = (
    update(users)
    .where(_ours(users), users.c.user_id == bindparam("of_user"))
    .values(roles=bindparam("new_roles"), disabled_at=bindparam("new_disabled_at"))
)

PASSWORD = _select(passwords, passwords.c.user_id == bindparam("of_user"))
ADD_PASSWORD = insert(passwords)
CHANGE_PASSWORD = (
    update(passwords)
    .where(_ours(passwords), passwords.c.user_id == bindparam("of_user"))
    .values(
        verifier=bindparam("new_verifier"),
        one_time=bindparam("new_one_time"),
        spent=literal(False),  # noqa: FBT003 - a column's value
        changed_at=bindparam("new_changed_at"),
    )
)
REHASH_PASSWORD = update(passwords).where(_ours(passwords), _this_password).values(verifier=bindparam("new_verifier"))
SPEND_PASSWORD = (
    update(passwords)
    .where(_ours(passwords), _this_password, passwords.c.one_time.is_(True), passwords.c.spent.is_(False))
    .values(spent=literal(True))  # noqa: FBT003 - a column's value
)
CLAIM_PASSWORD = select(literal(1)).where(_ours(passwords), _this_password, passwords.c.spent.is_(False))

FACTORS_OF_USER = _select(factors, factors.c.user_id == bindparam("of_user")).order_by(
    factors.c.created_at, factors.c.factor_id
)
ADD_FACTOR = insert(factors).from_select(
    [column.name for column in factors.c],
    select(*_values(factors)).where(
        ~exists().where(
            factors.c.project_id == bindparam("project_id"),
            factors.c.credential_id == bindparam("credential_id"),
            factors.c.credential_id != literal(""),
        )
    ),
)
REMOVE_FACTOR = delete(factors).where(_ours(factors), _this_factor)
ADVANCE_FACTOR = (
    update(factors)
    .where(_ours(factors), _this_factor, factors.c.counter < bindparam("new_counter"))
    .values(counter=bindparam("new_counter"), used_at=bindparam("new_used_at"))
)
USE_FACTOR = (
    update(factors)
    .where(_ours(factors), _this_factor, factors.c.counter == literal(0))
    .values(used_at=bindparam("new_used_at"))
)

SESSION = _select(sessions, _this_session)
SESSIONS_OF_USER = _select(
    sessions, sessions.c.user_id == bindparam("of_user"), _unended, sessions.c.created_at > bindparam("since")
).order_by(sessions.c.created_at.desc(), sessions.c.session_sha256)
ADD_SESSION = insert(sessions)
TOUCH_SESSION = (
    update(sessions)
    .where(_ours(sessions), _this_session, _unended, sessions.c.last_seen <= bindparam("seen_before"))
    .values(last_seen=bindparam("new_last_seen"))
)
CLAIM_SESSION = (
    select(literal(1))
    .select_from(sessions)
    .join(users, (users.c.project_id == sessions.c.project_id) & (users.c.user_id == sessions.c.user_id))
    .where(
        _ours(sessions),
        _this_session,
        _unended,
        sessions.c.created_at > bindparam("since"),
        users.c.disabled_at.is_(None),
    )
)
END_SESSION = update(sessions).where(_ours(sessions), _this_session, _unended).values(ended_at=bindparam("at"))
END_SESSIONS_OF_USER = (
    update(sessions)
    .where(_ours(sessions), sessions.c.user_id == bindparam("of_user"), _unended)
    .values(ended_at=bindparam("at"))
)
END_SESSIONS = update(sessions).where(_ours(sessions), _unended).values(ended_at=bindparam("at"))
FORGET_SESSIONS = delete(sessions).where(
    _ours(sessions),
    sessions.c.session_sha256.in_(
        select(sessions.c.session_sha256)
        .where(_ours(sessions), sessions.c.created_at < bindparam("before"))
        .order_by(sessions.c.created_at)
        .limit(bindparam("most", type_=Integer))
    ),
)

# Tasks

_this_task = tasks.c.task_id == bindparam("of_task")
_open_task = tasks.c.due_at.is_not(None)

TASK = _select(tasks, _this_task)
TASK_OF_DECISION = _select(tasks, tasks.c.decision_id == bindparam("of_decision"))
TASKS = _select(tasks).order_by(tasks.c.created_at.desc(), tasks.c.task_id.desc()).limit(MAX_UNFINISHED)
TASKS_OF_SUBJECT = (
    _select(tasks, tasks.c.subject == bindparam("subject"))
    .order_by(tasks.c.created_at.desc(), tasks.c.task_id.desc())
    .limit(MAX_LISTED)
)
ADD_TASK = insert(tasks)
CHANGE_TASK = (
    update(tasks)
    .where(_ours(tasks), _this_task, tasks.c.state == bindparam("old_state"))
    .values(
        state=bindparam("new_state"),
        progress=bindparam("new_progress"),
        note=bindparam("new_note"),
        outcome=bindparam("new_outcome"),
        report_id=bindparam("new_report_id"),
        changed_at=bindparam("new_changed_at"),
        due_at=bindparam("new_due_at"),
        ended_at=bindparam("new_ended_at"),
    )
)
DUE_TASKS = (
    _select(tasks, _open_task, tasks.c.due_at <= bindparam("at"))
    .order_by(tasks.c.due_at, tasks.c.task_id)
    .limit(MAX_DUE)
)
COUNT_OPEN_TASKS = (
    select(func.count()).select_from(tasks).where(_ours(tasks), tasks.c.subject == bindparam("subject"), _open_task)
)
FORGET_TASKS = delete(tasks).where(
    _ours(tasks),
    tasks.c.subject == bindparam("subject"),
    tasks.c.due_at.is_(None),
    tasks.c.task_id
    <= select(tasks.c.task_id)
    .where(_ours(tasks), tasks.c.subject == bindparam("subject"), tasks.c.due_at.is_(None))
    .order_by(tasks.c.task_id.desc())
    .limit(1)
    .offset(MAX_KEPT_TASKS)
    .scalar_subquery(),
)

# Evidence

_this_evidence = evidence_links.c.evidence_id == bindparam("of_evidence")
_valid_issuer = exists().where(
    evidence_issuers.c.project_id == evidence_links.c.project_id,
    evidence_issuers.c.key_id == evidence_links.c.issuer_id,
    evidence_issuers.c.revoked_at.is_(None),
)
_usable = (evidence_links.c.issuer_id == literal("")) | _valid_issuer
_of_subject = evidence_links.c.subject == bindparam("subject")
_newest_link = (evidence_links.c.created_at.desc(), evidence_links.c.evidence_id, evidence_links.c.kind)

EVIDENCE = _select(evidence, evidence.c.evidence_id == bindparam("of_evidence"))
EVIDENCE_LINKS_OF = _select(evidence_links, _this_evidence, _of_subject, _usable).order_by(*_newest_link)
EVIDENCE_LINKS = _select(evidence_links).order_by(*_newest_link).limit(MAX_UNFINISHED)
CLAIM_EVIDENCE = select(literal(1)).where(
    _ours(evidence_links),
    _this_evidence,
    _of_subject,
    evidence_links.c.kind == bindparam("kind"),
    evidence_links.c.origin == bindparam("origin"),
    _usable,
)
COUNT_EVIDENCE = (
    select(func.count(), func.coalesce(func.sum(evidence.c.size), 0))
    .select_from(evidence_links)
    .join(
        evidence,
        (evidence.c.project_id == evidence_links.c.project_id)
        & (evidence.c.evidence_id == evidence_links.c.evidence_id),
    )
    .where(_ours(evidence_links), evidence_links.c.uploader == bindparam("uploader"))
)
ADD_EVIDENCE = insert(evidence).from_select(
    [column.name for column in evidence.c],
    select(*_values(evidence)).where(
        ~exists().where(
            evidence.c.project_id == bindparam("project_id"), evidence.c.evidence_id == bindparam("evidence_id")
        )
    ),
)
ADD_EVIDENCE_LINK = insert(evidence_links).from_select(
    [column.name for column in evidence_links.c],
    select(*_values(evidence_links)).where(
        ~exists().where(
            *(
                evidence_links.c[name] == bindparam(name)
                for name in ("project_id", "evidence_id", "subject", "kind", "origin", "issuer_id")
            )
        )
    ),
)
DROP_EVIDENCE_LINKS = delete(evidence_links).where(
    _ours(evidence_links), _this_evidence, evidence_links.c.uploader == bindparam("uploader")
)
DROP_UNLINKED_EVIDENCE = delete(evidence).where(
    _ours(evidence),
    evidence.c.evidence_id == bindparam("of_evidence"),
    ~exists().where(
        evidence_links.c.project_id == evidence.c.project_id, evidence_links.c.evidence_id == evidence.c.evidence_id
    ),
)

EVIDENCE_ISSUERS = _select(evidence_issuers).order_by(evidence_issuers.c.created_at, evidence_issuers.c.key_id)
ADD_EVIDENCE_ISSUER = insert(evidence_issuers).from_select(
    [column.name for column in evidence_issuers.c],
    select(*_values(evidence_issuers)).where(
        ~exists().where(
            evidence_issuers.c.project_id == bindparam("project_id"), evidence_issuers.c.key_id == bindparam("key_id")
        )
    ),
)
CLAIM_EVIDENCE_ISSUER = select(literal(1)).where(
    _ours(evidence_issuers), evidence_issuers.c.key_id == bindparam("of_key"), evidence_issuers.c.revoked_at.is_(None)
)
REVOKE_EVIDENCE_ISSUER = (
    update(evidence_issuers)
    .where(
        _ours(evidence_issuers),
        evidence_issuers.c.key_id == bindparam("of_key"),
        evidence_issuers.c.revoked_at.is_(None),
    )
    .values(revoked_at=bindparam("at"))
)
