"""`negotiator doctor`: looks at everything that the server needs, says what to do, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from negotiator.cli.checkup import Diagnosis, Subject, examine, unreadable
from negotiator.cli.output import as_json_option, config_option, environment, one_line, print_json
from negotiator.cli.site import settings_of
from negotiator.errors import ConfigError
from negotiator.store import SystemClock

__all__ = ["command"]


@click.command(name="doctor")
@config_option
@as_json_option
def command(*, config: Path | None, as_json: bool) -> int:
    """Check everything, say what to do, change nothing; exit 1 if there is a problem."""
    seen = _examined(config)
    ok = all(diagnosis.state != "problem" for diagnosis in seen)
    if as_json:
        print_json({"ok": ok, "checks": [asdict(diagnosis) for diagnosis in seen]})
    else:
        _print(seen)
    return 0 if ok else 1


def _examined(config: Path | None) -> Sequence[Diagnosis]:
    try:
        settings = settings_of(config)
    except ConfigError as error:
        return unreadable(error)
    named = config or environment().get("NEGOTIATOR_CONFIG")
    return examine(Subject(settings=settings, file=Path(named) if named else None, clock=SystemClock()))


def _print(seen: Sequence[Diagnosis]) -> None:
    for diagnosis in seen:
        code = f" {diagnosis.code}:" if diagnosis.code else ""
        click.echo(one_line(f"{diagnosis.state:<7} {diagnosis.about}:{code} {diagnosis.detail}"))
