"""`negotiator site` and `negotiator effects settle` on one host."""

from __future__ import annotations

from negotiator.assembly import Negotiator
from negotiator.cli.site import settings_of
from negotiator.model.records import Intent
from tests.support.killed import sweep

ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def interrupted() -> None:
    """Leave an effect behind of which nobody knows."""
    negotiator = Negotiator(settings_of(None))
    try:
        intent = {"decision_id": ID, "owner": "gone", "lease_seq": 0, "principal_type": "Agent", "subject": "agent:a"}
        negotiator.store.transact_sync(lambda tx: tx.intents.open(Intent(**intent, action="post", opened_at=tx.now)))
        sweep(negotiator)
    finally:
        negotiator.stop()


def test_a_site_credential_is_shown_once_listed_and_revoked(run):
    made = run("site", "add", "worker")
    assert made.status == 0
    assert made.out.startswith("uaixs_")
    assert run("site", "add", "worker").err.startswith("negotiator: name_taken: ")
    assert run("site", "add", "A worker").err.startswith("negotiator: name_invalid: ")
    [listed] = run("site", "list", "--json").document
    assert (listed["name"], listed["revoked_at"]) == ("worker", None)
    assert made.out.strip() not in run("site", "list").out
    assert run("site", "revoke", "worker").out == "worker is revoked\n"
    assert "revoked" in run("site", "list").out
    assert run("site", "revoke", "worker").err.startswith("negotiator: not_found: ")
    assert run("site", "add", "worker", "--json").document["token"].startswith("uaixs_")
    codes = [entry["code"] for entry in run("ledger", "tail", "--json").document]
    assert codes == ["site_credential_added", "site_credential_revoked", "site_credential_added"]


def test_an_unknown_outcome_is_settled_once(run):
    run("site", "add", "worker")
    interrupted()
    [listed] = run("effects", "list", "--json").document
    assert (listed["decision_id"], listed["state"]) == (ID, "outcome_unknown")
    settled = run("effects", "settle", ID, "--outcome", "done", "--note", "order 17 is in the books")
    assert (settled.status, settled.out) == (0, f"{ID} is settled as done\n")
    assert run("effects", "list").out == "every effect has its outcome\n"
    assert run("effects", "settle", ID, "--outcome", "done", "--json").document["state"] == "settled"
    other = run("effects", "settle", ID, "--outcome", "not_done")
    assert other.status == 1
    assert other.err.startswith("negotiator: effect_not_unknown: ")
    entries = [each for each in run("ledger", "tail", "--json").document if each.get("code") == "effect_settled"]
    assert [(each["outcome"], each["note"], each["actor"]["type"]) for each in entries] == [
        ("done", "order 17 is in the books", "Host")
    ]


def test_what_cannot_be_settled(run):
    run("site", "add", "worker")
    assert run("effects", "settle", ID, "--outcome", "done").err.startswith("negotiator: not_found: ")
    assert run("effects", "settle", ID, "--outcome", "perhaps").status == 2
    assert run("effects", "settle", ID).status == 2
    interrupted()
    refused = run("effects", "settle", ID, "--outcome", "done", "--note", "two\nlines")
    assert refused.err.startswith("negotiator: note_invalid: ")
