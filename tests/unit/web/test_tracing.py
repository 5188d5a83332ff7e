"""Exactly one valid traceparent goes on to the site. Source: W3C Trace Context Level 2."""

from __future__ import annotations

import hashlib
import re

import pytest

from negotiator.web.tracing import traced
from tests.support.asgi import DECISION_ID

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
RECEIVED = f"00-{TRACE_ID}-b7ad6b7169203331-01".encode()
VALID = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[0-3]")
SPAN = hashlib.sha256(f"span:{DECISION_ID}".encode()).hexdigest()[:16]


def onward(*headers: tuple[bytes, bytes]) -> tuple[str, list[tuple[bytes, bytes]]]:
    lines = traced(headers, DECISION_ID)
    [parent] = [value.decode() for name, value in lines if name.lower() == b"traceparent"]
    return parent, [line for line in lines if line[0].lower() == b"tracestate"]


def test_the_trace_stays_and_the_span_is_ours():
    parent, _ = onward((b"host", b"x"), (b"TraceParent", RECEIVED))
    assert parent == f"00-{TRACE_ID}-{SPAN}-01"
    assert traced([(b"a", b"1"), (b"traceparent", RECEIVED)], DECISION_ID)[0] == (b"a", b"1")


def test_each_decision_has_a_span_of_its_own():
    assert onward((b"traceparent", RECEIVED))[0] != dict(traced([(b"traceparent", RECEIVED)], "other"))[b"traceparent"]


@pytest.mark.parametrize(
    ("flags", "kept"), [("00", "00"), ("01", "01"), ("02", "02"), ("03", "03"), ("ff", "03"), ("fc", "00")]
)
def test_flags_without_a_meaning_are_cleared(flags, kept):
    assert onward((b"traceparent", RECEIVED[:-2] + flags.encode()))[0].endswith(f"-{kept}")


def test_a_later_version_goes_on_as_the_one_that_we_know():
    parent, _ = onward((b"traceparent", b"cc" + RECEIVED[2:] + b"-what-the-future-brings"))
    assert parent == f"00-{TRACE_ID}-{SPAN}-01"


def test_without_one_a_trace_begins_that_is_not_sampled():
    parent, _ = onward((b"host", b"x"))
    assert VALID.fullmatch(parent)
    assert parent.endswith(f"-{SPAN}-02")
    assert parent == onward()[0]


@pytest.mark.parametrize(
    "lines",
    [
        [b"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"],
        [b"rojo=1", b"congo=2"],
        [b"rojo=1 , congo=2,,"],
        [b"1a-_*/@b-_*/0=x"],
        [b"a= x y~"],
    ],
)
def test_a_well_formed_state_goes_on_as_it_came(lines):
    given = [(b"TraceState", line) for line in lines]
    assert onward((b"traceparent", RECEIVED), *given)[1] == given


@pytest.mark.parametrize(
    "lines",
    [
        [b"rojo"],
        [b"rojo="],
        [b"Rojo=1"],
        [b"rojo=1,rojo=2"],
        [b"rojo=1", b"rojo=2"],
        [b"rojo=a\x01"],
        [b"rojo=\xe9"],
        [b"rojo=a=b"],
        [b"0rojo=1"],
        [b"a@b@c=1"],
        [b",".join(b"k%d=1" % number for number in range(33))],
        [b"a=" + b"x" * 257],
        [b",".join(b"k%d=" % number + b"x" * 250 for number in range(20))],
    ],
)
def test_a_malformed_state_does_not(lines):
    parent, states = onward((b"traceparent", RECEIVED), *((b"tracestate", line) for line in lines))
    assert (parent[3:35], states) == (TRACE_ID, [])


def test_a_state_without_a_trace_belongs_to_nothing():
    assert onward((b"tracestate", b"rojo=1"))[1] == []
