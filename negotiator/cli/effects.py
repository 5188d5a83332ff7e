"""`negotiator effects`: for operators. What the site was asked to do and nobody knows whether it did.

Settling asks for no password: whoever runs commands on this host has the database. The ledger names the user.
"""

from __future__ import annotations

from pathlib import Path

import click

from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import host_actor, opened
from negotiator.model.records import Intent, Settled
from negotiator.model.times import format_time

__all__ = ["command"]


@click.group(name="effects")
def command() -> None:
    """Effects without a known outcome."""


@command.command(name="list")
@config_option
@as_json_option
def list_(*, config: Path | None, as_json: bool) -> None:
    """Print effects that are under way and effects that were interrupted, newest first."""
    with opened(config, existing=True) as negotiator:
        effects = negotiator.effects.unfinished()
    if as_json:
        print_json([_document(effect) for effect in effects])
        return
    for effect in effects:
        document = _document(effect)
        click.echo(one_line("  ".join(str(document[name]) for name in _COLUMNS)))
    if not effects:
        click.echo("every effect has its outcome")


@command.command()
@click.argument("effect_id", metavar="ID")
@click.option(
    "--outcome",
    type=click.Choice([settled.value for settled in Settled]),
    required=True,
    help="Whether the site carried it out; with not_done its key may be used again.",
)
@click.option("--note", default="", help="How you know, on one line, for the ledger.")
@config_option
@as_json_option
def settle(effect_id: str, *, outcome: str, note: str, config: Path | None, as_json: bool) -> None:
    """Say what became of the interrupted effect ID."""
    with opened(config, existing=True) as negotiator:
        effect = negotiator.settlements.settle_here(effect_id, Settled(outcome), note=note, actor=host_actor())
    if as_json:
        print_json(_document(effect) | {"settled": outcome})
    else:
        click.echo(f"{effect_id} is settled as {outcome}")


_COLUMNS = ("decision_id", "opened_at", "state", "action", "subject")


def _document(effect: Intent) -> dict[str, str]:
    return {
        "decision_id": effect.decision_id,
        "opened_at": format_time(effect.opened_at),
        "state": effect.state,
        "action": effect.action,
        "subject": effect.subject,
        "owner": effect.owner,
    }
