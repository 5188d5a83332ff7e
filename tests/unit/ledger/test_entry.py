"""An entry's bytes are final: a change here breaks every ledger that was ever written."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
import rfc8785

from negotiator.errors import NegotiatorError
from negotiator.ledger import (
    RESERVED_MEMBERS,
    ZERO_HASH,
    entry_line,
    format_time,
    genesis,
    leaf_hash,
    line_hash,
    parse_time,
)
from negotiator.model.entries import EntryDraft, EntryKind

PLACE = {"epoch": 1, "index": 0, "time": "2026-05-04T03:02:01.000006Z", "project": "site", "prev": ZERO_HASH}


def admin(**members: object) -> EntryDraft:
    return EntryDraft(kind=EntryKind.ADMIN, members=members)


def test_the_line_of_an_entry_is_these_bytes():
    line = entry_line(admin(decision="deny", action="post", ok=True, count=3), **PLACE)
    assert line == (
        b'{"action":"post","count":3,"decision":"deny","epoch":1,"index":0,"kind":"admin","ok":true,'
        b'"prev":"0000000000000000000000000000000000000000000000000000000000000000","project":"site",'
        b'"time":"2026-05-04T03:02:01.000006Z","v":1}'
    )
    assert line_hash(line) == hashlib.sha256(line).hexdigest()
    assert leaf_hash(line) == hashlib.sha256(b"\x00" + line).hexdigest()


def test_the_line_is_what_an_independent_implementation_makes_of_its_members():
    line = entry_line(admin(text='é "\\/\u2028\U0001f600', nested={"b": [1, {"a": False}], "a": -(2**53) + 1}), **PLACE)
    assert line == rfc8785.dumps(json.loads(line))


@pytest.mark.parametrize("name", sorted(RESERVED_MEMBERS))
def test_a_draft_may_not_carry_what_the_ledger_sets(name):
    with pytest.raises(NegotiatorError) as caught:
        entry_line(admin(**{name: "forged"}), **PLACE)
    assert caught.value.code == "entry_reserved_member"


@pytest.mark.parametrize("value", [0.5, None, 2**53, {"é": 1}, "\ud800", b"bytes", {1: 2}, float("nan"), {"a": [None]}])
def test_what_has_no_exact_form_is_refused(value):
    with pytest.raises(NegotiatorError) as caught:
        entry_line(admin(member=value), **PLACE)
    assert caught.value.code == "entry_not_canonical"


def test_a_body_is_no_entry():
    with pytest.raises(NegotiatorError) as caught:
        entry_line(admin(member="x" * 262_144), **PLACE)
    assert caught.value.code == "entry_too_large"


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


def test_appending_gives_a_new_head_and_leaves_the_old_one():
    start = genesis("site")
    now = datetime(2026, 5, 4, tzinfo=UTC)
    first, placed = start.append(admin(n=1), now=now)
    assert (start.size, start.prev) == (0, ZERO_HASH)
    assert (first.size, first.prev, first.time) == (1, line_hash(placed.line), now)
    assert (placed.index, placed.leaf_hash) == (0, leaf_hash(placed.line))
    again, same = start.append(admin(n=1), now=now)
    assert (again, same) == (first, placed)


def test_a_clock_that_steps_back_does_not_take_the_ledger_along():
    now = datetime(2026, 5, 4, tzinfo=UTC)
    head, _ = genesis("site").append(admin(), now=now)
    later, placed = head.append(admin(), now=now - timedelta(days=1))
    assert later.time == now
    assert placed.time == format_time(now)
