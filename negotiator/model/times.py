"""Times in text: RFC 3339, UTC, `Z`, six fractional digits; ordered as text as they are in time.

- One spelling for one time, in entries, tables and answers alike; a store keeps no more precision.
- `parse_time` accepts exactly what `format_time` emits. What clients may write is for those who read it.

Source: RFC 3339.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from negotiator.errors import NegotiatorError, quoted

__all__ = ["format_time", "parse_time"]

_ZONE_AT = len("2026-01-02T03:04:05.000006")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def format_time(moment: datetime) -> str:
    """Return an aware time as text, e.g. `2026-01-02T03:04:05.000006Z`.

    Raises:
        NegotiatorError: `time_not_aware`, for a time without a zone: guessing one would move the record.
    """
    if moment.tzinfo is None:
        message = f"the time {quoted(moment)} has no zone; give an aware one"
        raise NegotiatorError(message, code="time_not_aware")
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{in_utc.isoformat(timespec='microseconds')[:_ZONE_AT]}Z"


def parse_time(text: str) -> datetime:
    """Return the aware UTC time that `text` holds. Accepts exactly what `format_time` emits.

    Raises:
        NegotiatorError: `time_malformed`.
    """
    if _TIME.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    message = f"{quoted(text)} is no time; write YYYY-MM-DDThh:mm:ss.ffffffZ"
    raise NegotiatorError(message, code="time_malformed")
