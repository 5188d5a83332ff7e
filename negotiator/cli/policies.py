"""`negotiator policy`: for operators."""

from __future__ import annotations

from pathlib import Path

import click

from negotiator.cli.output import as_json_option, print_findings, print_json
from negotiator.model.findings import Severity
from negotiator.policy import check_bundle
from negotiator.shipped import shipped_folder
from negotiator.store import PolicyFolder

__all__ = ["command"]


@click.group(name="policy")
def command() -> None:
    """Check policies before they decide anything."""


@command.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@as_json_option
def check(folder: Path | None, *, as_json: bool) -> int:
    """Check the policies in FOLDER (the shipped ones without it); exit 1 if they could not become active."""
    findings = check_bundle(PolicyFolder(folder or shipped_folder("policies")).read())
    usable = not any(finding.severity is Severity.ERROR for finding in findings)
    if as_json:
        print_json({"ok": usable, "findings": [finding.as_json() for finding in findings]})
    else:
        print_findings(findings)
        click.echo("the policies can become active" if usable else "the policies cannot become active")
    return 0 if usable else 1
