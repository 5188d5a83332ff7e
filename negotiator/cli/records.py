"""`negotiator record`: UAI-1 messages on the command line. Needs no server and no configuration."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from negotiator.cli.output import as_json_option, print_findings, print_json, read_input
from negotiator.errors import RequestError
from negotiator.messages import Validator, decode_message, encode_message
from negotiator.messages.facts import declaration_of
from negotiator.model.findings import Finding, Severity
from negotiator.model.levels import CAPABILITY_PROFILES
from negotiator.shipped import load_catalog

__all__ = ["command"]


@click.group(name="record")
def command() -> None:
    """Check, convert and digest UAI-1 messages."""


@command.command()
@click.argument("file")
@click.option("--strict", is_flag=True, help="Demand all eighteen members of a capability body.")
@as_json_option
def validate(file: str, *, strict: bool, as_json: bool) -> int:
    """Check the message in FILE (- for standard input) against its profile's schema."""
    catalog = load_catalog()
    digest = None
    try:
        message = decode_message(read_input(file), catalog)
        digest = message.digest
        findings = Validator(catalog).check_message(message, strict=strict)
        if message.profile in CAPABILITY_PROFILES and not _bad(findings):
            findings += declaration_of(message, now=datetime.now(UTC)).notes
    except RequestError as error:
        findings = [_finding(error)]
    valid = not _bad(findings)
    if as_json:
        print_json({"valid": valid, "digest": digest, "findings": [finding.as_json() for finding in findings]})
    else:
        print_findings(findings)
        click.echo(f"valid  sha256:{digest}" if valid else "not valid")
    return 0 if valid else 1


@command.command()
@click.argument("file")
@click.option("--to", "encoding", type=click.Choice(["keyed", "minified", "keyless"]), default="keyless")
def encode(file: str, encoding: str) -> None:
    """Write the message in FILE in another encoding, without loss."""
    catalog = load_catalog()
    message = decode_message(read_input(file), catalog)
    click.echo(encode_message(message, encoding, catalog).decode())  # type: ignore[arg-type]


@command.command()
@click.argument("file")
def decode(file: str) -> None:
    """Write the message in FILE in keyed form, for reading."""
    print_json(decode_message(read_input(file), load_catalog()).keyed)


@command.command()
@click.argument("file")
def digest(file: str) -> None:
    """Print the digest of the message in FILE; it is the same in every encoding."""
    click.echo(decode_message(read_input(file), load_catalog()).digest)


def _bad(findings: list[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def _finding(error: RequestError) -> Finding:
    return Finding(
        code=error.code,
        severity=Severity.ERROR,
        pointer=error.pointer or "",
        message=error.message,
        source="codec",
    )
