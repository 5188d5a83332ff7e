"""Times in text: RFC 3339, UTC, `Z`, six fractional digits; ordered as text as they are in time."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["format_time"]


def format_time(moment: datetime) -> str:
    """Return an aware `moment` as `2026-01-31T12:00:00.000000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
