"""`negotiator consent` on the host."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

from negotiator.model.levels import Level
from tests.support.consents import ROUTES, desk


def _site(folder: Path) -> tuple[str, str, str]:
    """Make a site with a request that waits and an approval; return its configuration and their ids."""

    async def filled() -> tuple[str, str]:
        async with desk(folder) as at:
            at.built.clock.advance((datetime.now(UTC) - at.built.clock.now()).total_seconds())
            at.own["uaix-negotiation"] = await at.built.token(at.client, Level.L3, at.site["uaix-credential"])
            approval_id = await at.approved(reason="\u202e<b>because</b>")
            return (await at.ask(body="more")).json()["id"], approval_id

    request_id, approval_id = asyncio.run(filled())
    tables = "\n".join(
        "[[routes]]\n" + "\n".join(f"{name} = {json.dumps(value)}" for name, value in route.items()) for route in ROUTES
    )
    (folder / "negotiator.toml").write_text(f'database = "sqlite:///data/negotiator.db"\nkeys_dir = "keys"\n{tables}\n')
    return str(folder / "negotiator.toml"), request_id, approval_id


def test_requests_are_listed_shown_denied_and_approvals_revoked(run, tmp_path):
    config, request_id, approval_id = _site(tmp_path)
    listed = run("consent", "list", "--config", config, "--json").document
    assert {row["request_id"] for row in listed} > {request_id}
    assert {row["approval_id"] for row in listed} == {None, approval_id}
    assert request_id in run("consent", "list", "--config", config).out

    approved = next(row for row in listed if row["approval_id"])
    shown = run("consent", "show", approved["request_id"], "--config", config, "--json").document
    assert shown["display"]["reason"]["text"] == "\\u{202e}<b>because</b>"
    assert shown["approval"]["approver"] == "ada"
    text = run("consent", "show", approved["request_id"], "--config", config).out
    assert text.isascii()

    denied = run("consent", "deny", request_id, "--config", config, "--json").document
    assert denied["status"] == "denied"
    again = run("consent", "deny", request_id, "--config", config)
    assert (again.status, again.out) == (1, "")
    assert again.err.startswith("negotiator: consent_ended: ")

    revoked = [run("consent", "revoke", approval_id, "--config", config, "--json").document for _ in range(2)]
    assert [each["changed"] for each in revoked] == [True, False]
    entries = run("ledger", "tail", "--config", config, "--json").document
    assert [entry["code"] for entry in entries if entry["kind"] == "consent"][-1] == "approval_revoked"
    assert all(entry["actor"]["type"] == "Host" for entry in entries[-1:])


def test_what_is_not_there_says_so(run, tmp_path):
    config, *_ = _site(tmp_path)
    for command in ("show", "deny", "revoke"):
        missing = run("consent", command, "nothing", "--config", config)
        assert (missing.status, missing.out) == (1, "")
        assert missing.err.startswith("negotiator: not_found: ")


def test_nobody_approves_by_command(run):
    refused = run("consent", "approve", "01890a5d-ac96-774b-bcce-b302099a8057")
    assert refused.status == 2
