"""`negotiator key`: the keys that sign. Runs on the host that has the key files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from negotiator.cli.output import as_json_option, config_option, print_json
from negotiator.cli.site import host_actor, opened
from negotiator.model.keys import KEY_PURPOSES, KeyPurpose, SigningKey
from negotiator.model.times import format_time
from negotiator.services.key_administration import ListedKey

__all__ = ["command"]

_PURPOSE = click.Choice(list(KEY_PURPOSES))


@click.group(name="key")
def command() -> None:
    """List the keys that sign, make, rotate and retire them."""


@command.command(name="list")
@config_option
@as_json_option
def list_keys(*, config: Path | None, as_json: bool) -> None:
    """List every key of the project and every key file of this host. Makes none."""
    with opened(config, existing=True) as negotiator:
        keys = negotiator.key_administration.listed()
    if as_json:
        print_json([_listed(key) for key in keys])
        return
    for key in keys:
        made = format_time(key.key.created_at) if key.key else ""
        click.echo(f"{key.purpose:<10} {key.state:<9} {'here' if key.here else 'away':<4} {made:<27} {key.key_id}")


@command.command()
@click.argument("purpose", type=_PURPOSE)
@config_option
@as_json_option
def new(purpose: str, *, config: Path | None, as_json: bool) -> None:
    """Make this host's first key for PURPOSE. Token keys are made by themselves."""
    with opened(config) as negotiator:
        key = negotiator.key_administration.add(cast("KeyPurpose", purpose), actor=host_actor())
    _tell(key, "signs", as_json=as_json)


@command.command()
@click.argument("purpose", type=_PURPOSE)
@config_option
@as_json_option
def rotate(purpose: str, *, config: Path | None, as_json: bool) -> None:
    """Let a new key sign for PURPOSE on this host; what the old ones signed still holds."""
    with opened(config) as negotiator:
        key = negotiator.key_administration.rotate(cast("KeyPurpose", purpose), actor=host_actor())
    _tell(key, "signs from now on; servers take it up within five seconds", as_json=as_json)


@command.command()
@click.argument("key_id")
@click.option("--reason", required=True, help="Why, for the ledger.")
@config_option
@as_json_option
def retire(key_id: str, *, reason: str, config: Path | None, as_json: bool) -> None:
    """Let nothing hold any more that the key KEY_ID (or the one key whose id begins so) has signed."""
    with opened(config, existing=True) as negotiator:
        key = negotiator.key_administration.retire(key_id, reason=reason, actor=host_actor())
    _tell(key, "is retired; negotiations whose tokens it signed have ended", as_json=as_json)


def _tell(key: SigningKey, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_shown(key))
    else:
        click.echo(f"{key.key_id} {what}")


def _listed(item: ListedKey) -> dict[str, Any]:
    known = _shown(item.key) if item.key else {"key_id": item.key_id, "purpose": item.purpose, "state": item.state}
    return {**known, "here": item.here}


def _shown(key: SigningKey) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "purpose": key.purpose,
        "state": key.state,
        "created_at": format_time(key.created_at),
        "rotated_at": format_time(key.rotated_at) if key.rotated_at else None,
        "retired_at": format_time(key.retired_at) if key.retired_at else None,
    }
