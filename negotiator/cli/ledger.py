"""`negotiator ledger`: for auditors. Nothing here makes a database that is not there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import opened
from negotiator.errors import IntegrityError
from negotiator.ledger import ChainReport

__all__ = ["command"]


@click.group(name="ledger")
def command() -> None:
    """Read and verify the ledger."""


@command.command()
@click.option("-n", "--count", type=click.IntRange(1, 100_000), default=20, show_default=True)
@config_option
@as_json_option
def tail(*, count: int, config: Path | None, as_json: bool) -> None:
    """Print the last entries, oldest first."""
    with opened(config, existing=True) as negotiator:
        entries = [_decoded(line) for line in negotiator.audit.tail(count)]
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        click.echo(one_line(_line(entry)))


@command.command()
@config_option
@as_json_option
def verify(*, config: Path | None, as_json: bool) -> None:
    """Recompute the whole chain from the entries' content; exit 1 if it was tampered with."""
    try:
        with opened(config, existing=True) as negotiator:
            report = negotiator.audit.verify()
    except IntegrityError as error:
        if as_json:
            print_json({"ok": False, "code": error.code, "message": error.message})
        raise
    if as_json:
        print_json({"ok": True, **asdict(report)})
    else:
        _print_report(report)


def _print_report(report: ChainReport) -> None:
    click.echo(f"{report.entries} {'entry' if report.entries == 1 else 'entries'}, one unbroken chain")
    for limit in report.unproved:
        click.echo(f"  not proved: {limit}")


def _decoded(line: bytes) -> dict[str, Any]:
    """Return an entry; a line that is none any more is shown as it is, for `verify` to judge."""
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        entry = None
    return entry if isinstance(entry, dict) else {"damaged": line.decode("utf-8", "replace")}


def _line(entry: dict[str, Any]) -> str:
    if "damaged" in entry:
        return f"     ? damaged: {entry['damaged']}"
    principal = _id(entry, "principal")
    what = f"{entry.get('action', '-')} {_id(entry, 'resource')}"
    verdict = f"{entry.get('decision', entry.get('end', '-'))} {entry.get('code', '')}".strip()
    policies = ",".join(entry.get("policies", ()))
    return (
        f"{entry['index']:>6} {entry['time']} {entry['kind']:<9} {principal:<42} {what:<28.28} {verdict} {policies}"
    ).rstrip()


def _id(entry: dict[str, Any], member: str) -> str:
    """Return the id of an entity that the entry names."""
    return str(entry.get(member, {}).get("id", "-"))
