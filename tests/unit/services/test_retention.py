"""Retention: what is over is deleted after a while, and no while is too long to be counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from negotiator.services.retention import MOST_AT_ONCE, Retention

NOW = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "asked"),
    [(30, [(NOW - timedelta(days=30), MOST_AT_ONCE)]), (1_000_000, [])],
)
def test_what_is_asked_for(days: int, asked: list[tuple[datetime, int]]) -> None:
    calls: list[tuple[datetime, int]] = []
    negotiations = SimpleNamespace(forget=lambda before, most: calls.append((before, most)))
    Retention(negotiations_days=days).chore.unit(SimpleNamespace(now=NOW, negotiations=negotiations))
    assert calls == asked
