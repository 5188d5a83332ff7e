"""A statement run on the driver's cursor does what Core does with it."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from sqlalchemy.sql import ClauseElement

from negotiator.model.consents import ApprovalUse
from negotiator.store import statements, transaction
from negotiator.store.engine import database_at
from negotiator.store.hot import Hot, Sql
from negotiator.store.rows import (
    AGENT,
    APPROVAL,
    APPROVAL_USE,
    CONSENT_REQUEST,
    CREDENTIAL,
    EVIDENCE,
    EVIDENCE_ISSUER,
    EVIDENCE_LINK,
    FACTOR,
    INTENT,
    KEY_USE,
    NEGOTIATION,
    PASSWORD,
    PERSON,
    PROPOSAL,
    SESSION,
    SIGNING_KEY,
    SITE_CREDENTIAL,
    STORED_ANSWER,
    TASK,
)
from negotiator.store.schema import migrate
from tests.support.databases import KINDS, new_database
from tests.support.stores import (
    HASH,
    START,
    agent,
    appending,
    approval,
    consent_request,
    credential,
    evidence,
    evidence_link,
    factor,
    intent,
    issuer,
    key_use,
    negotiation,
    password,
    person,
    proposal,
    session,
    signing_key,
    site_credential,
    stored_answer,
    task,
)

AT = "2026-05-04T03:02:01.000006Z"
LATER = "2027-05-04T03:02:01.000006Z"
SITE = {"of_project": "site"}
SLOT = {"subject": "agent:a1", "method": "POST", "route": "POST /comments", "key_sha256": HASH}
ENTRY = {
    "project_id": "site", "index": 0, "time": AT, "kind": "admin", "decision_id": None, "subject": "agent:a1",
    "action": None, "line": b"{}", "leaf_hash": HASH,
}  # fmt: skip
FACTOR_1 = {"of_user": "u1", "of_factor": "f1"}
INTERRUPTED = {"of_decision": "d1", "of_owner": intent().owner, "new_ended_at": AT, "new_end": "interrupted"}
ENDED = {"new_ended_at": AT, "new_end": "complete", "new_settled": None}
PASSED = {
    "old_decision": "d1", "new_fingerprint": HASH, "new_decision": "d4", "new_proposal": "", "new_used_at": AT,
    "new_consumed": "has_consent", **{f"of_{name}": value for name, value in SLOT.items()},
}  # fmt: skip
CHANGED = {"of_name": "mode", "new_value": "shadow", "new_changed_at": AT}
MOVED = {"old_size": 0, "new_epoch": 1, "new_size": 1, "new_prev": HASH, "new_time": AT}
DIGESTS = {"subject": "agent:a1", "digest_1": HASH, "digest_2": consent_request().digest, "digest_3": HASH}
DENIED = {
    "of_request": "q1", "new_state": "denied", "new_ended_at": "2026-05-04T03:12:01.000006Z", "new_ended_by": "ada",
    "new_approval": "",
}  # fmt: skip
COOLING = {
    "subject": "agent:a1", "of_action": "post", "of_type": "Resource", "of_resource": "comments", "since": AT,
}  # fmt: skip
HOLDING = {"of_approval": "v1", "of_digest": approval().digest, "of_epoch": 1, "at": AT}
USE = ApprovalUse(approval_id="v1", decision_id="d1", used_at=START)
TASK_CHANGE = {
    "of_task": "t1", "old_state": "accepted", "new_state": "closed", "new_progress": None, "new_note": "",
    "new_outcome": "completed", "new_report_id": "", "new_changed_at": AT, "new_due_at": None, "new_ended_at": AT,
}  # fmt: skip
THING = {"of_evidence": evidence().evidence_id}
ATTESTED = evidence_link(origin="attested", issuer_id="i1", uploader="host:ana")
CLAIMED = {"subject": "agent:a1", "kind": "provenance"}

SCRIPT = [
    ("ADD_PROJECT", {"project_id": "site", "created_at": AT}),
    ("PROJECT", SITE),
    ("PROJECTS", {}),
    ("STATE", SITE | {"of_name": "mode"}),
    ("CHANGE_STATE", SITE | CHANGED),
    ("ADD_STATE", {"project_id": "site", "name": "mode", "value": "enforce", "changed_at": AT}),
    ("CHANGE_STATE", SITE | CHANGED),
    ("STATE", SITE | {"of_name": "mode"}),
    ("ADD_HEAD", {"project_id": "site", "epoch": 1, "size": 0, "prev": HASH, "time": AT}),
    ("HEAD", SITE),
    ("LOCK_HEAD", SITE),
    ("MOVE_HEAD", SITE | MOVED),
    ("MOVE_HEAD", SITE | MOVED),
    ("HEAD", SITE),
    ("ADD_ENTRY", ENTRY),
    ("ENTRY_LINES", SITE | {"start": 0, "stop": 9}),
    ("LAST_INDEX", SITE),
    ("ENTRY_LEAF_HASH", SITE | {"at_index": 0}),
    ("ADD_AGENT", AGENT.to_row("site", agent())),
    ("ADD_AGENT", AGENT.to_row("site", agent("a2"))),
    ("ADD_CREDENTIAL", CREDENTIAL.to_row("site", credential())),
    ("AGENTS", SITE),
    ("AGENT_NAMED", SITE | {"name": "crawler"}),
    ("AGENT_WITH_CREDENTIAL", SITE | {"credential_id": "c1"}),
    ("CLAIM_CREDENTIAL", SITE | {"credential_id": "c1", "max_level": 3}),
    ("REVOKE_AGENT", SITE | {"of_agent": "a1", "at": AT}),
    ("REVOKE_CREDENTIALS", SITE | {"of_agent": "a1", "at": AT}),
    ("CLAIM_CREDENTIAL", SITE | {"credential_id": "c1", "max_level": 3}),
    ("ADD_NEGOTIATION", NEGOTIATION.to_row("site", negotiation())),
    ("NEGOTIATION", SITE | {"of_negotiation": "n1"}),
    ("IDENTICAL_NEGOTIATION", SITE | {"credential_id": "c1", "digest": HASH, "strict": False, "at": AT}),
    ("NEGOTIATIONS_OF_SUBJECT", SITE | {"subject": "agent:a1", "at": AT}),
    ("CLAIM_NEGOTIATION", SITE | {"of_negotiation": "n1", "at": AT}),
    ("END_NEGOTIATION", SITE | {"of_negotiation": "n1", "at": AT, "new_ended_at": AT}),
    ("CLAIM_NEGOTIATION", SITE | {"of_negotiation": "n1", "at": AT}),
    ("COUNT_LIVE_NEGOTIATIONS", SITE | {"subject": "agent:a1", "since": AT, "at": AT}),
    ("END_NEGOTIATIONS", SITE | {"at": AT, "new_ended_at": AT}),
    ("END_NEGOTIATIONS_OF_KEY", SITE | {"of_key": "k1", "new_ended_at": AT}),
    ("ADD_SIGNING_KEY", SIGNING_KEY.to_row("site", signing_key())),
    ("ADD_SIGNING_KEY", SIGNING_KEY.to_row("site", signing_key())),
    ("CLAIM_SIGNING_KEY", SITE | {"of_key": "k1"}),
    ("ROTATE_SIGNING_KEY", SITE | {"of_key": "k1", "at": AT}),
    ("ROTATE_SIGNING_KEY", SITE | {"of_key": "k1", "at": AT}),
    ("RETIRE_SIGNING_KEY", SITE | {"of_key": "k1", "at": AT}),
    ("CLAIM_SIGNING_KEY", SITE | {"of_key": "k1"}),
    ("SIGNING_KEYS", SITE),
    ("FORGET_NEGOTIATIONS", SITE | {"before": LATER, "most": 1}),
    ("NEGOTIATION", SITE | {"of_negotiation": "n1"}),
    ("ADD_USER", PERSON.to_row("site", person())),
    ("ADD_USER", PERSON.to_row("site", person("u2"))),
    ("USER", SITE | {"of_user": "u1"}),
    ("USER_NAMED", SITE | {"of_name": "ada"}),
    ("CHANGE_USER", SITE | {"of_user": "u1", "new_roles": "auditor", "new_disabled_at": None}),
    ("USERS", SITE),
    ("ADD_PASSWORD", PASSWORD.to_row("site", password())),
    ("CLAIM_PASSWORD", SITE | {"of_user": "u1", "old_verifier": "v1"}),
    ("SPEND_PASSWORD", SITE | {"of_user": "u1", "old_verifier": "v1"}),
    ("SPEND_PASSWORD", SITE | {"of_user": "u1", "old_verifier": "v1"}),
    ("CLAIM_PASSWORD", SITE | {"of_user": "u1", "old_verifier": "v1"}),
    ("REHASH_PASSWORD", SITE | {"of_user": "u1", "old_verifier": "v1", "new_verifier": "v2"}),
    ("REHASH_PASSWORD", SITE | {"of_user": "u1", "old_verifier": "v1", "new_verifier": "v3"}),
    ("CHANGE_PASSWORD", SITE | {"of_user": "u1", "new_verifier": "v4", "new_one_time": False, "new_changed_at": AT}),
    ("PASSWORD", SITE | {"of_user": "u1"}),
    ("ADD_FACTOR", FACTOR.to_row("site", factor())),
    ("ADD_FACTOR", FACTOR.to_row("site", factor("f2"))),
    ("ADD_FACTOR", FACTOR.to_row("site", factor("f3", credential_id="AA"))),
    ("ADD_FACTOR", FACTOR.to_row("site", factor("f4", credential_id="AA"))),
    ("USE_FACTOR", SITE | FACTOR_1 | {"new_used_at": AT}),
    ("ADVANCE_FACTOR", SITE | FACTOR_1 | {"new_counter": 7, "new_used_at": AT}),
    ("ADVANCE_FACTOR", SITE | FACTOR_1 | {"new_counter": 7, "new_used_at": AT}),
    ("USE_FACTOR", SITE | FACTOR_1 | {"new_used_at": AT}),
    ("FACTORS_OF_USER", SITE | {"of_user": "u1"}),
    ("REMOVE_FACTOR", SITE | FACTOR_1),
    ("REMOVE_FACTOR", SITE | FACTOR_1),
    ("ADD_SESSION", SESSION.to_row("site", session())),
    ("ADD_SESSION", SESSION.to_row("site", session("ef" * 32))),
    ("SESSION", SITE | {"of_session": HASH}),
    ("SESSIONS_OF_USER", SITE | {"of_user": "u1", "since": "2026-05-04T03:02:00.000000Z"}),
    ("SESSIONS_OF_USER", SITE | {"of_user": "u1", "since": AT}),
    ("TOUCH_SESSION", SITE | {"of_session": HASH, "seen_before": AT, "new_last_seen": "2026-05-04T03:04:00.000000Z"}),
    ("TOUCH_SESSION", SITE | {"of_session": HASH, "seen_before": AT, "new_last_seen": "2026-05-04T03:04:00.000000Z"}),
    ("CLAIM_SESSION", SITE | {"of_session": HASH, "since": "2026-05-04T03:02:00.000000Z"}),
    ("END_SESSION", SITE | {"of_session": HASH, "at": AT}),
    ("END_SESSION", SITE | {"of_session": HASH, "at": AT}),
    ("CLAIM_SESSION", SITE | {"of_session": HASH, "since": "2026-05-04T03:02:00.000000Z"}),
    ("END_SESSIONS_OF_USER", SITE | {"of_user": "u1", "at": AT}),
    ("END_SESSIONS", SITE | {"at": AT}),
    ("FORGET_SESSIONS", SITE | {"before": "2026-05-05T00:00:00.000000Z", "most": 1}),
    ("OPEN_INTENT", INTENT.to_row("site", intent())),
    ("INTENT", SITE | {"of_decision": "d1"}),
    ("COUNT_OPEN_INTENTS", SITE),
    ("OPEN_INTENTS_OF_OTHERS", SITE | {"of_owner": "another"}),
    ("RENEW_INTENTS", SITE | {"of_owner": intent().owner}),
    ("INTERRUPT_INTENT", SITE | INTERRUPTED | {"old_lease_seq": 0}),
    ("INTERRUPT_INTENT", SITE | INTERRUPTED | {"old_lease_seq": 1}),
    ("UNFINISHED_INTENTS", SITE),
    ("SETTLE_INTENT", SITE | {"of_decision": "d1", "new_settled": "done"}),
    ("SETTLE_INTENT", SITE | {"of_decision": "d1", "new_settled": "not_done"}),
    ("UNFINISHED_INTENTS", SITE),
    ("CORRECT_INTENT", SITE | {"of_decision": "d1"} | ENDED),
    ("CORRECT_INTENT", SITE | {"of_decision": "d1"} | ENDED),
    ("OPEN_INTENT", INTENT.to_row("site", intent("d2"))),
    ("CLOSE_INTENT", SITE | {"of_decision": "d2"} | ENDED),
    ("CLOSE_INTENT", SITE | {"of_decision": "d2"} | ENDED),
    ("INTENT", SITE | {"of_decision": "d2"}),
    ("TAKE_KEY", KEY_USE.to_row("site", key_use())),
    ("TAKE_KEY", KEY_USE.to_row("site", key_use("d2"))),
    ("KEY_USE", SITE | SLOT),
    ("PASS_KEY_ON", SITE | PASSED),
    ("PASS_KEY_ON", SITE | PASSED),
    ("KEY_USE", SITE | SLOT),
    ("OPEN_INTENT", INTENT.to_row("site", intent("d3"))),
    ("TAKE_KEY", KEY_USE.to_row("site", key_use("d3", key_sha256="cd" * 32))),
    ("KEEP_ANSWER", STORED_ANSWER.to_row("site", stored_answer("d1"))),
    ("STORED_ANSWER", SITE | {"of_decision": "d1"}),
    ("FORGET_KEYS", SITE | {"before": AT}),
    ("FORGET_ANSWERS", SITE | {"before": AT}),
    ("FORGET_KEYS", SITE | {"before": "2030"}),
    ("FORGET_ANSWERS", SITE | {"before": "2030"}),
    ("KEY_USE", SITE | SLOT),
    ("KEY_USE", SITE | SLOT | {"key_sha256": "cd" * 32}),
    ("STORED_ANSWER", SITE | {"of_decision": "d1"}),
    ("ADD_SITE_CREDENTIAL", SITE_CREDENTIAL.to_row("site", site_credential())),
    ("ADD_SITE_CREDENTIAL", SITE_CREDENTIAL.to_row("site", site_credential("s2"))),
    ("SITE_CREDENTIAL", SITE | {"of_credential": "s1"}),
    ("SITE_CREDENTIALS", SITE),
    ("CLAIM_SITE_CREDENTIAL", SITE | {"of_credential": "s1"}),
    ("REVOKE_SITE_CREDENTIAL", SITE | {"of_credential": "s1", "at": AT}),
    ("CLAIM_SITE_CREDENTIAL", SITE | {"of_credential": "s1"}),
    ("ADD_PROPOSAL", PROPOSAL.to_row("site", proposal())),
    ("PROPOSAL", SITE | {"of_proposal": "p1"}),
    ("PROPOSALS_OF_SUBJECT", SITE | {"subject": "agent:a1"}),
    ("ADD_TASK", TASK.to_row("site", task())),
    ("ADD_TASK", TASK.to_row("site", task("t2"))),
    ("TASK", SITE | {"of_task": "t1"}),
    ("TASK_OF_DECISION", SITE | {"of_decision": "d9"}),
    ("TASKS", SITE),
    ("TASKS_OF_SUBJECT", SITE | {"subject": "agent:a1"}),
    ("COUNT_OPEN_TASKS", SITE | {"subject": "agent:a1"}),
    ("DUE_TASKS", SITE | {"at": "2026-05-04T03:59:01.000006Z"}),
    ("CHANGE_TASK", SITE | TASK_CHANGE),
    ("CHANGE_TASK", SITE | TASK_CHANGE),
    ("COUNT_OPEN_TASKS", SITE | {"subject": "agent:a1"}),
    ("FORGET_TASKS", SITE | {"subject": "agent:a1"}),
    ("TASKS", SITE),
    ("ADD_EVIDENCE_ISSUER", EVIDENCE_ISSUER.to_row("site", issuer())),
    ("ADD_EVIDENCE_ISSUER", EVIDENCE_ISSUER.to_row("site", issuer())),
    ("CLAIM_EVIDENCE_ISSUER", SITE | {"of_key": "i1"}),
    ("ADD_EVIDENCE", EVIDENCE.to_row("site", evidence())),
    ("ADD_EVIDENCE", EVIDENCE.to_row("site", evidence())),
    ("EVIDENCE", SITE | THING),
    ("ADD_EVIDENCE_LINK", EVIDENCE_LINK.to_row("site", evidence_link())),
    ("ADD_EVIDENCE_LINK", EVIDENCE_LINK.to_row("site", evidence_link())),
    ("ADD_EVIDENCE_LINK", EVIDENCE_LINK.to_row("site", ATTESTED)),
    ("EVIDENCE_LINKS", SITE),
    ("EVIDENCE_LINKS_OF", SITE | THING | {"subject": "agent:a1"}),
    ("COUNT_EVIDENCE", SITE | {"uploader": "agent:a1"}),
    ("COUNT_EVIDENCE", SITE | {"uploader": "nobody"}),
    ("CLAIM_EVIDENCE", SITE | THING | CLAIMED | {"origin": "attested"}),
    ("REVOKE_EVIDENCE_ISSUER", SITE | {"of_key": "i1", "at": AT}),
    ("REVOKE_EVIDENCE_ISSUER", SITE | {"of_key": "i1", "at": AT}),
    ("CLAIM_EVIDENCE", SITE | THING | CLAIMED | {"origin": "attested"}),
    ("CLAIM_EVIDENCE", SITE | THING | CLAIMED | {"origin": "self"}),
    ("EVIDENCE_LINKS_OF", SITE | THING | {"subject": "agent:a1"}),
    ("EVIDENCE_ISSUERS", SITE),
    ("DROP_EVIDENCE_LINKS", SITE | THING | {"uploader": "agent:a1"}),
    ("DROP_UNLINKED_EVIDENCE", SITE | THING),
    ("DROP_EVIDENCE_LINKS", SITE | THING | {"uploader": "host:ana"}),
    ("DROP_UNLINKED_EVIDENCE", SITE | THING),
    ("EVIDENCE", SITE | THING),
    ("ADD_CONSENT_REQUEST", CONSENT_REQUEST.to_row("site", consent_request())),
    ("ADD_CONSENT_REQUEST", CONSENT_REQUEST.to_row("site", consent_request("q2"))),
    ("CONSENT_REQUEST", SITE | {"of_request": "q1"}),
    ("CONSENT_REQUESTS", SITE),
    ("CONSENT_REQUESTS_DUE", SITE | {"at": "2026-05-04T09:02:01.000006Z"}),
    ("CONSENT_REQUEST_OF_DIGEST", SITE | DIGESTS),
    ("COUNT_PENDING_CONSENTS", SITE),
    ("COUNT_PENDING_CONSENTS_OF", SITE | {"subject": "agent:a1"}),
    ("END_CONSENT_REQUEST", SITE | DENIED),
    ("END_CONSENT_REQUEST", SITE | DENIED),
    ("CONSENT_DENIED", SITE | COOLING),
    ("ADD_APPROVAL", APPROVAL.to_row("site", approval())),
    ("APPROVAL", SITE | {"of_approval": "v1"}),
    ("CLAIM_APPROVAL", SITE | HOLDING),
    ("SPEND_APPROVAL", SITE | HOLDING),
    ("SPEND_APPROVAL", SITE | HOLDING | {"of_epoch": 2}),
    ("SPEND_APPROVAL", SITE | HOLDING | {"of_digest": HASH}),
    ("SPEND_APPROVAL", SITE | HOLDING),
    ("SPEND_APPROVAL", SITE | HOLDING),
    ("USE_APPROVAL", APPROVAL_USE.to_row("site", USE)),
    ("APPROVAL_USES", SITE | {"of_approval": "v1"}),
    ("REVOKE_APPROVAL", SITE | {"of_approval": "v1", "new_revoked_at": AT, "new_revoked_by": "ada"}),
    ("REVOKE_APPROVAL", SITE | {"of_approval": "v1", "new_revoked_at": AT, "new_revoked_by": "ada"}),
    ("APPROVAL", SITE | {"of_approval": "v1"}),
    ("END_CONSENT_REQUESTS", SITE | {"new_state": "expired", "new_ended_at": AT}),
]  # fmt: skip


@pytest.fixture(params=KINDS)
def connections(request, tmp_path):
    with ExitStack() as stack:
        both = []
        for name in ("core", "hot"):
            database = database_at(stack.enter_context(new_database(request.param, tmp_path / name)))
            migrate(database)
            both.append(stack.enter_context(database.writing_engine().begin()))
        yield both


def test_the_script_covers_every_statement():
    every = {name for name in statements.__all__ if isinstance(getattr(statements, name), ClauseElement)}
    assert {name for name, _ in SCRIPT} == every


def test_the_drivers_cursor_and_core_agree_on_every_statement(connections):
    core, hot = connections
    sql = Sql(hot.connection.cursor(), Hot(hot.dialect))
    for name, values in SCRIPT:
        statement = getattr(statements, name)
        if statement.is_select:
            found = [tuple(row) for row in sql.rows(statement, **values)]
            assert found == [tuple(row) for row in core.execute(statement, values)], name
        else:
            changed = sql.changed(statement, **values)
            options = {"preserve_rowcount": True}
            assert changed == core.execute(statement, values, execution_options=options).rowcount, name


def test_a_statement_is_compiled_once(connections):
    _core, hot = connections
    cache = Hot(hot.dialect)
    assert cache.text(statements.HEAD) is cache.text(statements.HEAD)


def test_the_hook_comes_before_each_change(connections):
    _core, hot = connections
    called: list[str] = []
    sql = Sql(hot.connection.cursor(), Hot(hot.dialect), before=lambda: called.append("before"))
    assert called == []
    sql.rows(statements.HEAD, **SITE)
    assert called == []
    sql.changed(statements.ADD_PROJECT, project_id="site", created_at=AT)
    sql.run(statements.RENEW_INTENTS, of_owner="nobody", **SITE)
    assert called == ["before", "before"]


async def test_a_unit_that_changes_nothing_opens_no_savepoint(open_site, file_url, monkeypatch):
    opened: list[str] = []
    original = transaction._Savepoint.open
    monkeypatch.setattr(transaction._Savepoint, "open", lambda self: (opened.append("open"), original(self))[1])
    store = open_site(file_url)
    await store.transact(appending(n=1))
    assert opened == []
    await store.transact(lambda tx: tx.intents.get("d1"))
    assert opened == []
    await store.transact(lambda tx: tx.intents.open(intent()))
    assert opened == ["open"]
