"""`negotiator agent` and `negotiator ledger` on one database."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from negotiator.services.credentials import parse_api_token

DATABASE = Path("var/data/negotiator.db")


def test_a_token_is_shown_once_and_kept_nowhere(run):
    shown = run("agent", "add", "helper", "--max-level", "L4", "--operated-by", "person:ada")
    token = shown.out.strip()
    assert shown.status == 0
    assert parse_api_token(token).secret
    assert "shown this once" in shown.err
    assert parse_api_token(token).secret.encode() not in DATABASE.read_bytes()
    [agent] = run("agent", "list", "--json").document
    assert agent["name"] == "helper"
    assert agent["max_level"] == "L4"
    assert agent["operated_by"] == "person:ada"
    assert agent["revoked_at"] is None
    assert token not in run("ledger", "tail", "--json").out


def test_json_holds_agent_and_token(run):
    shown = run("agent", "add", "helper", "--json")
    assert (shown.status, shown.err) == (0, "")
    assert shown.document["max_level"] == "L3"
    assert parse_api_token(shown.document["api_token"])


def test_a_name_is_taken_until_it_is_revoked(run):
    assert run("agent", "add", "helper").status == 0
    again = run("agent", "add", "helper")
    assert (again.status, again.out, again.code) == (1, "", "name_taken")
    assert run("agent", "revoke", "helper").out == "helper is revoked\n"
    gone = run("agent", "revoke", "helper")
    assert (gone.status, gone.code) == (1, "not_found")
    assert run("agent", "add", "helper").status == 0
    states = [agent["revoked_at"] is None for agent in run("agent", "list", "--json").document]
    assert states == [False, True]
    assert "revoked 2" in run("agent", "list").out


@pytest.mark.parametrize("name", ["Helper", "", "a b", "x" * 65, "h\u202ee", "-x"])
def test_a_name_that_cannot_be_used_is_refused(run, name):
    shown = run("agent", "add", "--", name)
    assert (shown.status, shown.code) == (1, "name_invalid")


def test_each_change_is_an_entry(run):
    run("agent", "add", "helper")
    run("agent", "revoke", "helper", "--json")
    entries = run("ledger", "tail", "--json").document
    assert [(entry["index"], entry["kind"], entry["code"]) for entry in entries] == [
        (0, "identity", "agent_added"),
        (1, "identity", "agent_revoked"),
    ]
    assert all(entry["actor"]["type"] == "Host" and entry["actor"]["id"] for entry in entries)
    lines = run("ledger", "tail").out.splitlines()
    assert [line.split()[2] for line in lines] == ["identity", "identity"]
    assert "agent_revoked" in run("ledger", "tail", "-n", "1").out


def test_a_whole_ledger_verifies_and_says_what_that_does_not_prove(run):
    run("agent", "add", "helper")
    shown = run("ledger", "verify")
    assert shown.status == 0
    assert shown.out.startswith("1 entry, one unbroken chain\n  not proved: ")
    document = run("ledger", "verify", "--json").document
    assert (document["ok"], document["entries"]) == (True, 1)
    assert document["unproved"]


def _edit(statement: str, *values: object) -> None:
    connection = sqlite3.connect(DATABASE, isolation_level=None)
    assert connection.execute(statement, values).rowcount == 1
    connection.close()


@pytest.mark.parametrize(
    ("statement", "code", "where"),
    [
        (
            "UPDATE ledger_entries SET line = replace(line, 'added', 'addid') WHERE \"index\" = 1",
            "chain_broken",
            "index 2",
        ),
        ('DELETE FROM ledger_entries WHERE "index" = 1', "chain_broken", "index 1"),
        ('DELETE FROM ledger_entries WHERE "index" = 2', "ledger_truncated", "2 entries where 3"),
    ],
    ids=["changed", "removed", "cut off"],
)
def test_tampering_is_bad_and_the_entry_is_named(run, statement, code, where):
    for name in ("one", "two", "three"):
        run("agent", "add", name)
    assert run("ledger", "verify").status == 0
    _edit(statement)
    shown = run("ledger", "verify")
    assert (shown.status, shown.out, shown.code) == (1, "", code)
    assert where in shown.err
    shown = run("ledger", "verify", "--json")
    assert (shown.status, shown.code) == (1, code)
    assert (shown.document["ok"], shown.document["code"]) == (False, code)


@pytest.mark.parametrize(
    "arguments", [("ledger", "verify"), ("ledger", "tail"), ("agent", "list"), ("agent", "revoke", "x")], ids=" ".join
)
def test_without_a_database_nothing_is_made_and_nothing_is_called_fine(run, tmp_path: Path, arguments):
    shown = run(*arguments)
    assert (shown.status, shown.out, shown.code) == (3, "", "database_missing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("database", "code"),
    [
        ("sqlite:///a-file/data/x.db", "database_directory_missing"),
        ("sqlite:///a-file", "store_unavailable"),
        ("sqlite:///a-folder", "store_unavailable"),
        ("nonsense", "database_url_invalid"),
        ("mysql://localhost/x", "database_unsupported"),
        ("postgresql://127.0.0.1:1/x", "store_unavailable"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(run, tmp_path: Path, monkeypatch, database, code):
    (tmp_path / "a-file").write_text("no database, but long enough to be taken for one" * 100)
    (tmp_path / "a-folder").mkdir()
    monkeypatch.setenv("NEGOTIATOR_DATABASE", database)
    shown = run("agent", "add", "helper")
    assert (shown.status, shown.out, shown.code) == (3, "", code)


def test_keys_that_others_can_read_are_refused(run):
    run("agent", "add", "helper")
    keys = Path("var/keys")
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    keys.chmod(0o755)
    shown = run("agent", "add", "another")
    assert (shown.status, shown.code) == (3, "key_file_unsafe")
    assert "chmod 700" in shown.err
