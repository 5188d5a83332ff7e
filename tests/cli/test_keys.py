"""`negotiator key` on one host."""

from __future__ import annotations

from pathlib import Path

KEYS = Path("var/keys")


def test_keys_are_made_rotated_and_retired(run):
    assert run("key", "new", "receipt", "--json").document["state"] == "signing"
    [first] = run("key", "list", "--json").document
    assert (first["purpose"], first["here"], first["retired_at"]) == ("receipt", True, None)

    second = run("key", "rotate", "receipt", "--json").document
    states = {key["key_id"]: key["state"] for key in run("key", "list", "--json").document}
    assert states == {first["key_id"]: "verifying", second["key_id"]: "signing"}

    retired = run("key", "retire", first["key_id"], "--reason", "a test")
    assert (retired.status, retired.err) == (0, "")
    assert "retired" in run("key", "list").out
    entries = run("ledger", "tail", "--json").document
    assert [entry["code"] for entry in entries] == ["key_added", "key_rotated", "key_retired"]
    assert min(path.name for path in KEYS.glob("receipt*")).startswith("receipt-")


def test_listing_makes_no_key(run):
    run("agent", "add", "helper")
    before = sorted(path.name for path in KEYS.iterdir())
    assert run("key", "list", "--json").document == []
    assert sorted(path.name for path in KEYS.iterdir()) == before


def test_what_cannot_be_done_says_how_it_can(run):
    made = run("key", "new", "webhook", "--json").document
    again = run("key", "new", "webhook")
    assert (again.status, again.out) == (1, "")
    assert again.err.startswith("negotiator: key_exists: ")
    assert "key rotate webhook" in again.err
    refused = run("key", "retire", made["key_id"], "--reason", "a test")
    assert refused.err.startswith("negotiator: key_in_use: ")
    assert run("key", "retire", "nothing", "--reason", "a test").err.startswith("negotiator: not_found: ")
    assert run("key", "retire", made["key_id"]).status == 2
    assert run("key", "new", "poetry").status == 2


def test_without_a_database_nothing_is_listed(run):
    shown = run("key", "list")
    assert shown.err.startswith("negotiator: database_missing: ")
    assert not KEYS.exists()
