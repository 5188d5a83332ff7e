"""`negotiator policy`: for operators."""

from __future__ import annotations

from pathlib import Path

import click

from negotiator.cli.output import as_json_option, print_findings, print_json
from negotiator.errors import ConfigError, PolicyError, quoted
from negotiator.model.findings import Finding, Severity
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
    """Check the policies in FOLDER (without it: the shipped ones).

    Exit 1 for any error or warning. With an error the policies cannot become active; with warnings alone they can.
    """
    findings = _findings(folder or shipped_folder("policies"))
    severities = {finding.severity for finding in findings}
    usable, ok = Severity.ERROR not in severities, severities <= {Severity.INFO}
    shown = [finding.as_json() for finding in findings]
    if as_json:
        print_json({"ok": ok, "usable": usable, "findings": shown})
    else:
        print_findings(shown)
        whose = "the policies" if folder else "the shipped policies"
        click.echo(f"{whose} can become active" if usable else f"{whose} cannot become active")
    return 0 if ok else 1


def _findings(folder: Path) -> list[Finding]:
    """Return everything that is wrong, also where a file of the folder cannot be read as a policy.

    Raises:
        ConfigError: `policies_missing`.
    """
    if not folder.is_dir():
        message = f"{quoted(folder)} is no folder; name one that holds *.cedar and schema.cedarschema"
        raise ConfigError(message, code="policies_missing")
    try:
        files = PolicyFolder(folder).read()
    except PolicyError as error:
        return [Finding(code=error.code, severity=Severity.ERROR, message=error.message, source="folder")]
    return check_bundle(files)
