"""The command line in an empty working directory, without settings from the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Ran, in_process


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("NEGOTIATOR_")]:
        monkeypatch.delenv(name)
    return lambda *arguments: in_process(capsys, *arguments)
