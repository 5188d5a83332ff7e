"""`negotiator parity URL`: whether a page shows what its JSON twin says. The record is evidence of kind `ui_parity`.

The twin is the page's own address, asked for as JSON, or the one that `--twin` names, of the same origin.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from negotiator.cli.fetching import Origin
from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.content.parity import parity_record
from negotiator.model.times import format_time

__all__ = ["command"]

_DIFFERS = 1


@click.command(name="parity")
@click.argument("url")
@click.option("--twin", default="", metavar="URL", help="Where the JSON twin is; without: URL itself, as JSON.")
@click.option("--about", default="", metavar="AGENT", help="The agent that the record counts for.")
@click.option("--no-record", is_flag=True, help="Compare only; keep nothing.")
@config_option
@as_json_option
def command(url: str, *, twin: str, about: str, no_record: bool, config: Path | None, as_json: bool) -> int:
    """Compare the page at URL with its JSON twin and keep the record as evidence."""
    origin = Origin(url)
    page = origin.read(url, accept="text/html")
    other = origin.read(twin or url, accept="application/json")
    record = parity_record(page, other, page_url=url, twin_url=twin or url)
    record["compared_at"] = format_time(datetime.now(UTC))
    evidence_id = "" if no_record else _keep(orjson.dumps(record, option=orjson.OPT_SORT_KEYS), about, config)
    if as_json:
        print_json({**record, "evidence_id": evidence_id or None})
    else:
        said, shown = record["sentences"]["said"], record["sentences"]["shown"]
        click.echo(f"{'agrees' if record['agrees'] else 'differs'}: {shown} of {said} sentences are shown")
        for difference in record["differences"]:
            click.echo(one_line(f"  {difference['pointer']}: {difference['value']}"))
        if evidence_id:
            click.echo(evidence_id)
    return 0 if record["agrees"] else _DIFFERS


def _keep(record: bytes, about: str, config: Path | None) -> str:
    """Keep the record on this host and return its evidence id. Only then the server's parts are needed."""
    from negotiator.cli.site import host_actor, opened

    with opened(config) as negotiator:
        handed = negotiator.evidence_administration.add_parity(record, about=about, actor=host_actor())
    return handed.link.evidence_id
