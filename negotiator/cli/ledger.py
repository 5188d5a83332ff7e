"""`negotiator ledger`: for auditors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

from negotiator.cli.output import as_json_option, config_option, print_json
from negotiator.cli.site import opened

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
    with opened(config) as negotiator:
        entries = [orjson.loads(line) for line in negotiator.audit.tail(count)]
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        click.echo(_line(entry))


@command.command()
@config_option
@as_json_option
def verify(*, config: Path | None, as_json: bool) -> int:
    """Recompute the whole chain from the entries' content; exit 1 if it was tampered with."""
    with opened(config) as negotiator:
        report = negotiator.audit.verify()
    if as_json:
        print_json({"ok": True, **asdict(report)})
        return 0
    click.echo(f"{report.entries} entries, one unbroken chain")
    for limit in report.unproved:
        click.echo(f"  not proved: {limit}")
    return 0


def _line(entry: dict[str, Any]) -> str:
    principal = entry.get("principal", {}).get("id", "-")
    resource = entry.get("resource", {}).get("id", "-")
    what = f"{entry.get('action', '-')} {resource}"
    verdict = f"{entry.get('decision', entry.get('end', '-'))} {entry.get('code', '')}".strip()
    policies = ",".join(entry.get("policies", ()))
    return (
        f"{entry['index']:>6} {entry['time']} {entry['kind']:<9} {principal:<28.28} {what:<28.28} {verdict} {policies}"
    )
