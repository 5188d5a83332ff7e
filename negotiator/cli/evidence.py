"""`negotiator evidence`: for operators. Evidence, and those whose word counts for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from negotiator.cli.output import as_json_option, config_option, one_line, print_json, read_input
from negotiator.cli.site import host_actor, opened
from negotiator.model.evidence import EvidenceIssuer, EvidenceLink
from negotiator.model.obligations import EVIDENCE_KINDS
from negotiator.model.times import format_time

__all__ = ["command"]

_KIND = click.Choice(EVIDENCE_KINDS)


@click.group(name="evidence")
def command() -> None:
    """Hand in evidence, list it, and say whose word counts for it."""


@command.command()
@click.argument("file")
@click.option("--kind", type=_KIND, required=True, help="What it is evidence of.")
@click.option("--about", required=True, metavar="AGENT", help="The agent that it is about and counts for.")
@click.option("--media-type", default="application/octet-stream", show_default=True)
@click.option("--attestation", default="", metavar="FILE", help="A detached JWS of a registered issuer over FILE.")
@config_option
@as_json_option
def add(
    file: str, *, kind: str, about: str, media_type: str, attestation: str, config: Path | None, as_json: bool
) -> None:
    """Hand in FILE (- is standard input) for an agent. Without an attestation it counts as nobody's word."""
    content = read_input(file)
    signature = read_input(attestation).decode("ascii", "replace").strip() if attestation else ""
    with opened(config) as negotiator:
        handed = negotiator.evidence_administration.add(
            content, media_type=media_type, kind=kind, about=about, attestation=signature, actor=host_actor()
        )
    if as_json:
        print_json(_link(handed.link))
    else:
        click.echo(one_line(f"{handed.link.evidence_id}  {handed.link.kind}  {handed.link.origin}"))


@command.command(name="list")
@click.option("--about", default="", metavar="AGENT", help="Only what counts for this agent.")
@config_option
@as_json_option
def list_(*, about: str, config: Path | None, as_json: bool) -> None:
    """Print what there is and for whom it counts, newest first, at most 1,000."""
    with opened(config, existing=True) as negotiator:
        links = negotiator.evidence_administration.links(about)
    if as_json:
        print_json([_link(link) for link in links])
        return
    for link in links:
        click.echo(one_line(f"{link.evidence_id}  {link.kind:<16}  {link.origin:<8}  {link.subject}"))
    if not links:
        click.echo("there is no evidence")


@command.command()
@click.argument("evidence_id")
@click.option("--content", "whole", is_flag=True, help="Write the bytes themselves, and nothing else.")
@config_option
@as_json_option
def show(evidence_id: str, *, whole: bool, config: Path | None, as_json: bool) -> None:
    """Print what the evidence EVIDENCE_ID is, and for whom it counts."""
    with opened(config, existing=True) as negotiator:
        stored = negotiator.evidence_administration.show(evidence_id)
    if whole:
        sys.stdout.buffer.write(stored.evidence.content)
        return
    document = {
        "id": stored.evidence.evidence_id,
        "media_type": stored.evidence.media_type,
        "bytes": stored.evidence.size,
        "created_at": format_time(stored.evidence.created_at),
        "links": [_link(link) for link in stored.links],
    }
    if as_json:
        print_json(document)
        return
    click.echo(one_line(f"{document['id']}  {document['media_type']}  {document['bytes']} bytes"))
    for link in stored.links:
        click.echo(one_line(f"  {link.kind}  {link.origin}  for {link.subject}, handed in by {link.uploader}"))


@command.group()
def issuer() -> None:
    """Say whose signatures count."""


@issuer.command(name="add")
@click.argument("name")
@click.argument("key_file")
@click.option("--kind", "kinds", type=_KIND, multiple=True, required=True, help="What it may attest; repeat it.")
@config_option
@as_json_option
def add_issuer(name: str, key_file: str, *, kinds: tuple[str, ...], config: Path | None, as_json: bool) -> None:
    """Let the signatures of NAME count. KEY_FILE holds its public Ed25519 key: PEM, JWK or base64url."""
    key = read_input(key_file).decode("utf-8", "replace")
    with opened(config) as negotiator:
        added = negotiator.evidence_administration.add_issuer(name, key, kinds=kinds, actor=host_actor())
    if as_json:
        print_json(_issuer(added))
    else:
        click.echo(one_line(f"{added.key_id} attests {', '.join(added.kinds)} as {added.name}"))


@issuer.command(name="list")
@config_option
@as_json_option
def list_issuers(*, config: Path | None, as_json: bool) -> None:
    """List every issuer, revoked ones too."""
    with opened(config, existing=True) as negotiator:
        issuers = negotiator.evidence_administration.issuers()
    if as_json:
        print_json([_issuer(each) for each in issuers])
        return
    for each in issuers:
        state = f"revoked {format_time(each.revoked_at)}" if each.revoked_at else "active"
        click.echo(one_line(f"{each.key_id}  {each.name:<24}  {state:<36}  {', '.join(each.kinds)}"))


@issuer.command()
@click.argument("name")
@config_option
@as_json_option
def revoke(name: str, *, config: Path | None, as_json: bool) -> None:
    """Let nothing count any more that the issuer NAME (or of that key id) has signed."""
    with opened(config, existing=True) as negotiator:
        revoked = negotiator.evidence_administration.revoke_issuer(name, actor=host_actor())
    if as_json:
        print_json(_issuer(revoked))
    else:
        click.echo(one_line(f"{revoked.name} is revoked"))


def _link(link: EvidenceLink) -> dict[str, Any]:
    return {**link.as_json(), "issuer_id": link.issuer_id or None, "uploader": link.uploader}


def _issuer(each: EvidenceIssuer) -> dict[str, Any]:
    return {
        "key_id": each.key_id,
        "name": each.name,
        "kinds": list(each.kinds),
        "public": each.public,
        "created_at": format_time(each.created_at),
        "revoked_at": format_time(each.revoked_at) if each.revoked_at else None,
    }
