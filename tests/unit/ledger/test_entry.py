"""An entry's bytes are final: a change here breaks every ledger that was ever written."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest
import rfc8785

from negotiator.errors import NegotiatorError
from negotiator.ledger import (
    RESERVED_MEMBERS,
    ZERO_HASH,
    entry_line,
    genesis,
    leaf_hash,
    line_hash,
)
from negotiator.model.entries import EntryDraft, EntryKind
from negotiator.model.times import format_time

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
