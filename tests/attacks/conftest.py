"""Attacks run on every database: a test that takes `database_url` is repeated for each."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    return {"sqlite": f"sqlite:///{tmp_path}/data/negotiator.db"}[request.param]
