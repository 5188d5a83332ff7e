"""`negotiator record`: UAI-1 messages on the command line.

Needs no configuration. Without the server's extra a validation leaves the policies out, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import click
import orjson

from negotiator.canonical import MAX_BODY_BYTES
from negotiator.cli.output import as_json_option, print_findings, print_json, read_input
from negotiator.errors import RequestError
from negotiator.messages import Validator, decode_message, encode_message, require_profile
from negotiator.messages.facts import declaration_of
from negotiator.messages.refusals import finding_of
from negotiator.model.findings import Finding, Severity
from negotiator.model.levels import CAPABILITY_PROFILES
from negotiator.model.messages import Encoding
from negotiator.shipped import load_catalog

__all__ = ["command"]


@click.group(name="record")
def command() -> None:
    """Check, convert and digest UAI-1 messages."""


@command.command()
@click.argument("file")
@click.option("--strict", is_flag=True, help="Demand all eighteen members of a capability body.")
@click.option("--profile", default="", metavar="ID", help="Demand this profile.")
@as_json_option
def validate(file: str, *, strict: bool, profile: str, as_json: bool) -> int:
    """Check the message in FILE (- for standard input): its schema, and what the shipped policies say of it."""
    data = read_input(file)
    try:
        report = _report(data, strict=strict, profile=profile)
    except RequestError as error:
        nothing = dict.fromkeys(("profile", "encoding", "digest"))
        report = {"valid": False, **nothing, "findings": [finding_of(error).as_json()]}
    if as_json:
        print_json(report)
    else:
        print_findings(report["findings"])
        click.echo(f"valid  sha256:{report['digest']}" if report["valid"] else "not valid")
    return 0 if report["valid"] else 1


@command.command()
@click.argument("file")
@click.option("--to", "encoding", type=click.Choice(get_args(Encoding)), default="keyless", show_default=True)
@as_json_option
def encode(file: str, *, encoding: Encoding, as_json: bool) -> None:
    """Write the message in FILE in another encoding, without loss."""
    catalog = load_catalog()
    message = decode_message(read_input(file), catalog)
    encoded = encode_message(message, encoding, catalog)
    if as_json:
        print_json({"encoding": encoding, "digest": message.digest, "message": orjson.loads(encoded)})
    else:
        click.echo(encoded.decode())


@command.command()
@click.argument("file")
@as_json_option
def decode(file: str, *, as_json: bool) -> None:
    """Write the message in FILE in keyed form, for reading."""
    del as_json  # it is one JSON document in any case
    print_json(decode_message(read_input(file), load_catalog()).keyed)


@command.command()
@click.argument("file")
@as_json_option
def digest(file: str, *, as_json: bool) -> None:
    """Print the digest of the message in FILE; it is the same in every encoding."""
    found = decode_message(read_input(file), load_catalog()).digest
    if as_json:
        print_json({"digest": found})
    else:
        click.echo(found)


def _report(data: bytes, *, strict: bool, profile: str) -> Mapping[str, Any]:
    """Return what `POST /validate` would answer, as far as what is installed can say."""
    now = datetime.now(UTC)
    try:
        from negotiator.assembly import load_engine
        from negotiator.services.validation import Validation
    except ModuleNotFoundError:
        click.echo("note: without the extra `server` the policies are not asked, only schema and form", err=True)
        return _without_policies(data, strict=strict, profile=profile)
    validation = Validation(load_catalog(), max_message_bytes=MAX_BODY_BYTES)
    return validation.report(data, load_engine(None), now=now, strict=strict, profile=profile)


def _without_policies(data: bytes, *, strict: bool, profile: str) -> Mapping[str, Any]:
    catalog = load_catalog()
    message = decode_message(data, catalog)
    findings = Validator(catalog).check_message(message, strict=strict)
    if message.profile in CAPABILITY_PROFILES and not _refuses(findings):
        findings += declaration_of(message, now=datetime.now(UTC)).notes
    if profile:
        require_profile(message, {profile})
    return {
        "valid": not _refuses(findings),
        "profile": message.profile,
        "encoding": message.encoding,
        "digest": message.digest,
        "findings": [finding.as_json() for finding in findings],
    }


def _refuses(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
