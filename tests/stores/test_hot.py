"""A statement run on the driver's cursor does what Core does with it."""

from __future__ import annotations

import pytest
from sqlalchemy.sql import ClauseElement

from negotiator.store import statements, transaction
from negotiator.store.engine import database_url, writing_engine
from negotiator.store.hot import Hot, Sql
from negotiator.store.rows import AGENT, CREDENTIAL, INTENT, KEY_USE, NEGOTIATION, PROPOSAL
from negotiator.store.schema import migrate
from tests.support.stores import HASH, agent, appending, credential, intent, key_use, negotiation, proposal

AT = "2026-05-04T03:02:01.000006Z"
SITE = {"of_project": "site"}
SLOT = {"subject": "agent:a1", "method": "POST", "route": "POST /comments", "key_sha256": HASH}
ENTRY = {
    "project_id": "site", "index": 0, "time": AT, "kind": "admin", "decision_id": None, "subject": "agent:a1",
    "action": None, "line": b"{}", "leaf_hash": HASH,
}  # fmt: skip
MOVED = {"old_size": 0, "new_epoch": 1, "new_size": 1, "new_prev": HASH, "new_time": AT}

SCRIPT = [
    ("ADD_PROJECT", {"project_id": "site", "created_at": AT}),
    ("PROJECT", SITE),
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
    ("OPEN_INTENT", INTENT.to_row("site", intent())),
    ("INTENT_IS_OPEN", SITE | {"of_decision": "d1"}),
    ("CLOSE_INTENT", SITE | {"of_decision": "d1", "new_ended_at": AT, "new_end": "complete"}),
    ("CLOSE_INTENT", SITE | {"of_decision": "d1", "new_ended_at": AT, "new_end": "complete"}),
    ("TAKE_KEY", KEY_USE.to_row("site", key_use())),
    ("TAKE_KEY", KEY_USE.to_row("site", key_use("d2"))),
    ("KEY_USE", SITE | SLOT),
    ("ADD_PROPOSAL", PROPOSAL.to_row("site", proposal())),
    ("PROPOSAL", SITE | {"of_proposal": "p1"}),
    ("PROPOSALS_OF_SUBJECT", SITE | {"subject": "agent:a1"}),
]  # fmt: skip


@pytest.fixture
def connections(tmp_path):
    engines = []
    for name in ("core", "hot"):
        url = database_url(f"sqlite:///{tmp_path}/{name}.db")
        migrate(url)
        engines.append(writing_engine(url))
    with engines[0].begin() as core, engines[1].begin() as hot:
        yield core, hot
    for engine in engines:
        engine.dispose()


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
            assert changed == core.execute(statement, values).rowcount, name


def test_a_statement_is_compiled_once(connections):
    _core, hot = connections
    cache = Hot(hot.dialect)
    assert cache.text(statements.HEAD) is cache.text(statements.HEAD)


def test_the_hook_comes_before_each_statement(connections):
    _core, hot = connections
    called: list[str] = []
    sql = Sql(hot.connection.cursor(), Hot(hot.dialect), before=lambda: called.append("before"))
    assert called == []
    sql.rows(statements.HEAD, **SITE)
    sql.changed(statements.ADD_PROJECT, project_id="site", created_at=AT)
    assert called == ["before", "before"]


async def test_a_unit_without_statements_opens_no_savepoint(open_site, file_url, monkeypatch):
    opened: list[str] = []
    original = transaction._Savepoint.open
    monkeypatch.setattr(transaction._Savepoint, "open", lambda self: (opened.append("open"), original(self))[1])
    store = open_site(file_url)
    await store.transact(appending(n=1))
    assert opened == []
    await store.transact(lambda tx: tx.intents.is_open("d1"))
    assert opened == ["open"]
