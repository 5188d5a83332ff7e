"""The command line, run in this process or in one of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from negotiator.cli import main

__all__ = ["PROGRAM", "Ran", "in_process", "plain_environment", "separately"]

PROGRAM = (sys.executable, "-m", "negotiator")

_ERROR = re.compile(r"negotiator: ([a-z_]+): [^\n]+\n")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run left behind."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return orjson.loads(self.out)

    @property
    def code(self) -> str:
        """The code of the one line on standard error; nothing else may be there."""
        line = _ERROR.fullmatch(self.err)
        assert line, self.err
        return line[1]


def in_process(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ran:
    """Run the command line here."""
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Ran(status, captured.out, captured.err)


def separately(
    *arguments: object, folder: Path, program: Sequence[str] = PROGRAM, given: bytes = b"", **variables: str
) -> Ran:
    """Run the command line in a process of its own, in `folder`."""
    done = subprocess.run(
        [*program, *map(str, arguments)],
        cwd=folder,
        env=plain_environment(**variables),
        input=given,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def plain_environment(**variables: str) -> Mapping[str, str]:
    """Return this process's environment without settings of ours, and with `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEGOTIATOR_", "COV_"))}
    return kept | {"PYTHONPATH": str(Path(__file__).parents[2])} | variables
