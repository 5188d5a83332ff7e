"""`negotiator site`: credentials with which the site itself settles effects. Runs on the host of the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import host_actor, opened
from negotiator.model.records import SiteCredential
from negotiator.model.times import format_time

__all__ = ["command"]


@click.group(name="site")
def command() -> None:
    """Credentials with which the site settles effects."""


@command.command()
@click.argument("name")
@config_option
@as_json_option
def add(name: str, *, config: Path | None, as_json: bool) -> None:
    """Make the site credential NAME and print it, once."""
    with opened(config) as negotiator:
        new = negotiator.site_credentials.add(name, actor=host_actor())
    if as_json:
        print_json({**_shown(new.credential), "token": new.token})
        return
    click.echo(new.token)
    click.echo(f"{name} may settle effects. The token is shown this once; only its keyed hash is kept.", err=True)


@command.command(name="list")
@config_option
@as_json_option
def list_(*, config: Path | None, as_json: bool) -> None:
    """List every site credential, revoked ones too."""
    with opened(config, existing=True) as negotiator:
        credentials = negotiator.site_credentials.listed()
    if as_json:
        print_json([_shown(credential) for credential in credentials])
        return
    for each in credentials:
        state = f"revoked {format_time(each.revoked_at)}" if each.revoked_at else "active"
        click.echo(one_line(f"{each.name:<24} {state:<36} {each.credential_id}"))


@command.command()
@click.argument("name")
@config_option
@as_json_option
def revoke(name: str, *, config: Path | None, as_json: bool) -> None:
    """Revoke the site credential NAME: it opens nothing from now on."""
    with opened(config, existing=True) as negotiator:
        credential = negotiator.site_credentials.revoke(name, actor=host_actor())
    if as_json:
        print_json(_shown(credential))
    else:
        click.echo(f"{name} is revoked")


def _shown(credential: SiteCredential) -> dict[str, Any]:
    return {
        "credential_id": credential.credential_id,
        "name": credential.name,
        "created_at": format_time(credential.created_at),
        "revoked_at": format_time(credential.revoked_at) if credential.revoked_at else None,
    }
