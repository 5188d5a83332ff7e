"""`negotiator demo`: the whole story over real HTTP."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from negotiator.cli.output import as_json_option, one_line, print_json
from negotiator.demo.story import STEPS, StepResult, tell

__all__ = ["command"]


@click.command(name="demo")
@click.option("--keep", is_flag=True, help="Keep the demo's database and keys, and say where they are.")
@as_json_option
def command(*, keep: bool, as_json: bool) -> int:
    """Tell the main job as a story over real HTTP; exit 0 only if each step holds."""
    folder = Path(tempfile.mkdtemp(prefix="negotiator-demo-"))
    results = []
    try:
        for result in tell(folder):
            results.append(result)
            if not as_json:
                _print(result)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    ok = len(results) == len(STEPS) and all(result.ok for result in results)
    if as_json:
        print_json({"ok": ok, "steps": [result.as_json() for result in results]})
    else:
        click.echo(f"{len(results)} of {len(STEPS)} steps told; {'each holds' if ok else 'the last one does not hold'}")
    if keep:
        click.echo(f"kept in {folder}", err=True)
    return 0 if ok else 1


def _print(result: StepResult) -> None:
    """Print what a step is about, and what was seen."""
    click.echo(f"{'✓' if result.ok else '✗'} {result.name}: {STEPS[result.name].__doc__}")
    click.echo(one_line(f"  → {result.detail}"))
