"""`negotiator store`: for administrators. Nothing here overwrites anything."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import check_is_there, host_actor, settings_of
from negotiator.store import Copied, SystemClock, back_up, database_file, migrate, restore, status_of

__all__ = ["command"]


@click.group(name="store")
def command() -> None:
    """Look after the database: migrate, status, backup, restore."""


@command.command(name="migrate")
@config_option
@as_json_option
def migrate_(*, config: Path | None, as_json: bool) -> None:
    """Bring the schema up to this version's; the server does it by itself when it starts."""
    database = settings_of(config).database
    _make_folder(database)
    migrate(database)
    _show_status(database, as_json=as_json)


@command.command()
@config_option
@as_json_option
def status(*, config: Path | None, as_json: bool) -> None:
    """Print schema, epoch, entries and open effects; exit 1 if the schema is behind."""
    database = settings_of(config).database
    check_is_there(database)
    if not _show_status(database, as_json=as_json):
        raise click.exceptions.Exit(1)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@config_option
@as_json_option
def backup(*, file: Path, config: Path | None, as_json: bool) -> None:
    """Write the database to a new FILE while the server runs. Keys are not in it: keep them apart."""
    database = settings_of(config).database
    check_is_there(database)
    _show_copied(back_up(database, file), as_json=as_json)


@command.command(name="restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--reason", required=True, help="Why, for the ledger.")
@config_option
@as_json_option
def restore_(*, file: Path, reason: str, config: Path | None, as_json: bool) -> None:
    """Fill an empty database with a backup, in a new epoch: every negotiation of before is ended.

    Agents that were revoked after the backup are there again: look through `negotiator agent list`.
    """
    database = settings_of(config).database
    _make_folder(database)
    copied = restore(file, database, clock=SystemClock(), reason=reason, actor=host_actor())
    _show_copied(copied, as_json=as_json)


def _show_status(database: str, *, as_json: bool) -> bool:
    state = status_of(database)
    if as_json:
        print_json({"current": state.current, **asdict(state)})
        return state.current
    newest = "current" if state.current else f"behind: {state.newest_schema} is this version's"
    click.echo(one_line(f"{state.database}: schema {state.schema or 'none'}, {newest}"))
    for project in state.projects:
        click.echo(
            f"  project {project.project}: {project.entries} entries, epoch {project.epoch}, "
            f"{project.open_effects} effects under way"
        )
    return state.current


def _show_copied(copied: Copied, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(copied))
        return
    for project, entries in copied.projects.items():
        click.echo(f"project {project}: {entries} entries, one unbroken chain")
    click.echo(f"{copied.rows} rows in all")


def _make_folder(database: str) -> None:
    file = database_file(database)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
