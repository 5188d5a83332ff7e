"""What the commands share: the options `--json` and `--config`, and how findings are printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from negotiator.model.findings import Finding, Severity

__all__ = ["as_json_option", "config_option", "environment", "print_findings", "print_json", "read_input"]

F = TypeVar("F", bound=Callable[..., Any])

_CONFIG = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
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


def print_json(document: object) -> None:
    """Print one JSON document, indented, on standard output."""
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())


def print_findings(findings: Iterable[Finding]) -> None:
    """Print findings for people, one to a paragraph."""
    for finding in findings:
        place = f" at {finding.pointer}" if finding.pointer else ""
        click.echo(f"{finding.severity.value}: {finding.code}{place} ({finding.source})")
        click.echo(f"  {finding.message}")
        if finding.remedy and finding.severity is not Severity.INFO:
            click.echo(f"  → {finding.remedy}")


def read_input(file: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`.

    Raises:
        click.UsageError: it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        message = f"cannot read {file}: {error.strerror}"
        raise click.UsageError(message) from None
