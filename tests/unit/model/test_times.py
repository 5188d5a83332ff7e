from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from negotiator.errors import NegotiatorError
from negotiator.model.times import format_time, parse_time


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00.000000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 999999, tzinfo=UTC), "2026-01-02T03:04:05.999999Z"),
        (datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2))), "2026-01-01T23:00:00.000000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_times_are_utc_with_microseconds(moment, text):
    assert format_time(moment) == text
    assert parse_time(text) == moment
    assert parse_time(text).utcoffset() == timedelta(0)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(NegotiatorError) as caught:
        format_time(datetime(2026, 1, 2))  # noqa: DTZ001 - the point of the test
    assert caught.value.code == "time_not_aware"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.000000+00:00",
        "2026-01-02 03:04:05.000000Z",
        "2026-01-02T03:04:05.000000z",
        "2026-13-02T03:04:05.000000Z",
        "2026-01-02T24:00:00.000000Z",
        "2026-01-02T03:04:05.0000000Z",
        "2026-01-02T03:04:05.000000Z\n",
        "\uff12026-01-02T03:04:05.000000Z",
    ],
)
def test_a_time_has_one_spelling(text):
    with pytest.raises(NegotiatorError) as caught:
        parse_time(text)
    assert caught.value.code == "time_malformed"
