"""What a person is shown: everything, visibly, once."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negotiator.model.consents import ConsentState
from negotiator.model.displays import MAX_SHOWN_CHARACTERS, display_digest, display_of, shown_text
from negotiator.model.facts import ResourceFacts
from tests.support.stores import BOUND, START, consent_request

RESOURCE = ResourceFacts(name="comments")


def shown(resource=RESOURCE, name="helper", operated_by="ana", **changes):
    return display_of(consent_request(**changes), agent_name=name, operated_by=operated_by, resource=resource)


@given(st.text(max_size=200))
def test_a_shown_text_is_seen_and_says_what_it_was(text):
    visible = shown_text(text)["text"]
    assert all(c in " \n" or unicodedata.category(c)[0] not in "CZ" for c in visible)
    back = re.sub(r"\\(?:u\{([0-9a-f]+)\}|(\\))", lambda m: m[2] or chr(int(m[1], 16)), visible)
    assert back == text


def test_a_long_text_is_cut_where_it_says():
    assert shown_text("a" * MAX_SHOWN_CHARACTERS)["left_out"] == 0
    cut = shown_text("a" * (MAX_SHOWN_CHARACTERS + 7))
    assert (len(cut["text"]), cut["characters"], cut["left_out"]) == (MAX_SHOWN_CHARACTERS, 20_007, 7)


@pytest.mark.parametrize(
    "changes",
    [
        {"resource": ResourceFacts(name="comments", protected=True)},
        {"resource": ResourceFacts(name="comments", two_person=True)},
        {"name": "other"},
        {"operated_by": "eve"},
        {"reason": "another"},
        {"uses": 3},
        {"scope": "template"},
        {"state": ConsentState.DENIED},
        {"not_after": START},
        {"body": b"x"},
        {"request_id": "q2"},
        *({"values": {**BOUND, name: "x"}} for name in ("authority", "method", "target", "content_type", "body")),
        {"values": {**BOUND, "bound_headers": {"x-tenant": "red"}}},
        {"values": {**BOUND, "site_account": "eve"}},
    ],
    ids=str,
)
def test_whatever_changes_changes_the_digest(changes):
    assert display_digest(shown(**changes)) != display_digest(shown())


def test_the_same_is_the_same():
    assert display_digest(shown()) == display_digest(shown())


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"body": b"hello", "body_bytes": 5}, "text"),
        ({"body": b"", "body_bytes": 0}, "none"),
        ({"body": b"", "body_bytes": 70_000}, "not_showable"),
        ({"body": b"", "body_bytes": -1}, "not_showable"),
        ({"body": b"\xff", "body_bytes": 1}, "not_showable"),
        ({"values": {name: value for name, value in BOUND.items() if name != "body"}}, "any"),
    ],
)
def test_kinds_of_bodies(changes, kind):
    assert shown(**changes)["body"]["kind"] == kind
