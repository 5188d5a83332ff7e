"""`negotiator consent`: what agents ask people for. Runs on the host of the database.

Denying and taking back need nobody's sign-in; approving does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import host_actor, opened
from negotiator.model.consents import Approval, ConsentRequest
from negotiator.model.displays import display_digest, display_of
from negotiator.model.facts import ResourceFacts
from negotiator.model.times import format_time
from negotiator.services.consent_desk import OnTheDesk

__all__ = ["command"]


@click.group(name="consent")
def command() -> None:
    """See what agents ask consent for; deny it, take it back."""


@command.command(name="list")
@config_option
@as_json_option
def list_(*, config: Path | None, as_json: bool) -> None:
    """Print the newest consent requests, newest first."""
    with opened(config, existing=True) as negotiator:
        found, now = negotiator.consent_desk.newest(), negotiator.clock.now()
    rows = [{**_request(each), "status": each.state_at(now).value} for each in found]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(one_line("  ".join(str(row[name]) for name in _COLUMNS)))
    if not rows:
        click.echo("nobody has asked for consent")


@command.command()
@click.argument("request_id")
@config_option
@as_json_option
def show(request_id: str, *, config: Path | None, as_json: bool) -> None:
    """Print the consent request REQUEST_ID as a person is shown it."""
    with opened(config, existing=True) as negotiator:
        found, now = negotiator.consent_desk.show(request_id), negotiator.clock.now()
        resources = [rule.resource for rule in negotiator.routes]
    display = _display(found, resources)
    document = {
        **_request(found.request),
        "status": found.request.state_at(now).value,
        "display": display,
        "display_digest": display_digest(display),
        "approval": _approval(found.approval) if found.approval else None,
        "uses": [{"decision_id": use.decision_id, "used_at": format_time(use.used_at)} for use in found.uses],
    }
    if as_json:
        print_json(document)
    else:
        click.echo(json.dumps(document, indent=2, ensure_ascii=True))


@command.command()
@click.argument("request_id")
@config_option
@as_json_option
def deny(request_id: str, *, config: Path | None, as_json: bool) -> None:
    """Deny the consent request REQUEST_ID; its agent may not ask for the same again for a while."""
    with opened(config, existing=True) as negotiator:
        denied = negotiator.consent_desk.deny(request_id, actor=host_actor())
    if as_json:
        print_json({**_request(denied), "status": denied.state.value})
    else:
        click.echo(f"{denied.request_id} is denied")


@command.command()
@click.argument("approval_id")
@config_option
@as_json_option
def revoke(approval_id: str, *, config: Path | None, as_json: bool) -> None:
    """Take the approval APPROVAL_ID back: it covers nothing from now on."""
    with opened(config, existing=True) as negotiator:
        changed = negotiator.consent_desk.revoke(approval_id, actor=host_actor())
    if as_json:
        print_json({"approval_id": approval_id, "revoked": True, "changed": changed})
    else:
        click.echo("the approval is revoked" if changed else "the approval was revoked already")


_COLUMNS = ("request_id", "created_at", "status", "action", "resource", "scope", "match_code", "subject")


def _display(found: OnTheDesk, resources: list[ResourceFacts]) -> Mapping[str, Any]:
    request = found.request
    same = [each for each in resources if (each.type, each.name) == (request.resource_type, request.resource)]
    resource = max(
        same, key=lambda each: (each.protected, each.two_person), default=ResourceFacts(name=request.resource)
    )
    return display_of(request, agent_name=found.agent_name, operated_by=found.operated_by, resource=resource)


def _request(request: ConsentRequest) -> dict[str, Any]:
    return {
        "request_id": request.request_id,
        "created_at": format_time(request.created_at),
        "expires_at": format_time(request.expires_at),
        "action": request.action,
        "resource": request.resource,
        "scope": request.scope,
        "match_code": request.match_code,
        "subject": request.subject,
        "approval_id": request.approval_id or None,
    }


def _approval(approval: Approval) -> dict[str, Any]:
    return {
        "approval_id": approval.approval_id,
        "approver": approval.approver,
        "assurance": approval.assurance,
        "scope": approval.scope,
        "uses": approval.uses,
        "uses_left": approval.uses_left,
        "granted_at": format_time(approval.granted_at),
        "expires_at": format_time(approval.expires_at),
        "revoked_at": format_time(approval.revoked_at) if approval.revoked_at else None,
    }
