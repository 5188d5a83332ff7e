"""What the commands share: the options `--json` and `--config`, reading a file, and printing.

Text of agents and of files is printed through `one_line`: it can neither make a second line nor turn one round.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click
import orjson

from negotiator.canonical import MAX_BODY_BYTES
from negotiator.errors import ConfigError, quoted
from negotiator.model.findings import Severity

__all__ = [
    "as_json_option",
    "config_option",
    "environment",
    "one_line",
    "print_findings",
    "print_json",
    "read_input",
]

F = TypeVar("F", bound=Callable[..., Any])

_CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The configuration; also NEGOTIATOR_CONFIG. Without one: the demo site's, under ./var.",
)
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def as_json_option(function: F) -> F:
    """Add `--json`."""
    return _AS_JSON(function)


def config_option(function: F) -> F:
    """Add `--config FILE`."""
    return _CONFIG(function)


def environment() -> Mapping[str, str]:
    """Return the process's environment, for `Settings.load`."""
    return os.environ


def one_line(text: str) -> str:
    """Return `text` with everything that is not printable, such as a newline or a direction mark, escaped."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def print_json(document: object) -> None:
    """Print one JSON document, indented, on standard output."""
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())


def print_findings(findings: Iterable[Mapping[str, Any]]) -> None:
    """Print findings, as `Finding.as_json` gives them, for people: one to a paragraph."""
    for finding in findings:
        place = f" at {finding['pointer']}" if finding["pointer"] else ""
        click.echo(one_line(f"{finding['severity']}: {finding['code']}{place} ({finding['source']})"))
        click.echo(one_line(f"  {finding['message']}"))
        if finding["remedy"] and finding["severity"] != Severity.INFO.value:
            click.echo(one_line(f"  → {finding['remedy']}"))


def read_input(file: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`; never much more than a message may have.

    Raises:
        ConfigError: `file_unreadable`.
    """
    try:
        if file == "-":
            return _bounded(sys.stdin.buffer)
        with Path(file).open("rb") as stream:
            return _bounded(stream)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"cannot read {quoted(file)}: {why}"
        raise ConfigError(message, code="file_unreadable") from None


def _bounded(stream: BinaryIO) -> bytes:
    """Read one byte more than a message may have, so that the decoder refuses what is longer."""
    return stream.read(MAX_BODY_BYTES + 1)
