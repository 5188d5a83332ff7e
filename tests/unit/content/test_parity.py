"""What a page shows of its twin."""

from __future__ import annotations

import json

import pytest

from negotiator.content.parity import MAX_DIFFERENCES, compare, parity_record, shown_by
from negotiator.errors import RequestError

SENTENCE = {"text": "what it may do"}


@pytest.mark.parametrize(
    ("page", "agrees"),
    [
        ("<p>what it may do</p>", True),
        ("<p>What it\n  <b>may</b> do</p>", True),
        ("<p>what it may &#100;o</p>", True),
        ("<p>what it may</p><p>do</p>", True),
        ("<p>what it may not</p>", False),
        ("<script>'what it may do'</script>", False),
        ("<style>what it may do</style>", False),
        ("<template><p>what it may do</p></template>", False),
        ("<noscript>what it may do</noscript>", False),
        ("<div hidden><p>what <br> it may do</p></div>", False),
        ('<div aria-hidden="true">what it may do</div>', False),
        ("<div hidden><img><p>x</p></div><p>what it may do</p>", True),
        ("<!-- what it may do -->", False),
        ('<p title="what it may do">x</p>', False),
        ('<meta content="what it may do">', False),
        ("<p hidden>never closed what it may do", False),
    ],
)
def test_what_a_reader_sees_counts(page: str, agrees: bool):
    assert compare(shown_by(page), SENTENCE).agrees is agrees


def test_a_difference_names_its_place():
    [difference] = compare("nothing", {"a/b": [1, {"~c": "some words"}]}).differences
    assert difference.as_json() == {"pointer": "/a~1b/1/~0c", "value": "some words"}


def test_details_are_counted_and_may_be_left_out():
    comparison = compare("some words 1.0", {"id": "x-1", "n": 1.0, "yes": True, "none": None, "t": "some words"})
    assert (comparison.details, comparison.sentences, comparison.agrees) == ((2, 1), (1, 1), True)


def test_an_address_of_a_link_is_shown():
    assert compare(shown_by('<a href="/x/y">here</a>'), {"href": "/x/y"}).details == (1, 1)
    assert compare(shown_by('<div hidden><a href="/x/y">here</a></div>'), {"href": "/x/y"}).details == (1, 0)


@pytest.mark.parametrize("twin", [{}, [], None, True, {"a": None}])
def test_a_twin_that_says_nothing_agrees_with_nothing(twin: object):
    assert not compare("anything at all", twin).agrees  # type: ignore[arg-type]


def test_differences_are_bounded_and_the_counts_are_not():
    comparison = compare("", [f"word {number}" for number in range(500)])
    assert (len(comparison.differences), comparison.sentences) == (MAX_DIFFERENCES, (500, 0))


def test_a_deep_twin_is_refused_and_no_page_breaks_the_reader():
    with pytest.raises(RequestError) as caught:
        parity_record(b"<p>", b"[" * 5_000, page_url="p", twin_url="t")
    assert caught.value.code == "parity_unusable"
    shown_by("<p" * 50_000 + "</div></b>" * 1_000)


@pytest.mark.parametrize(("page", "twin"), [(b"\xff", b"{}"), (b"<p>", b"{"), (b"<p>", b'{"a":1,"a":2}'), (b"", b"")])
def test_what_cannot_be_compared_says_so(page: bytes, twin: bytes):
    with pytest.raises(RequestError) as caught:
        parity_record(page, twin, page_url="p", twin_url="t")
    assert caught.value.code == "parity_unusable"


def test_a_record_names_both_by_address_and_digest():
    record = parity_record(b"<p>two words", json.dumps({"t": "two words"}).encode(), page_url="p", twin_url="t")
    assert (record["agrees"], record["page"]["url"], record["twin"]["url"]) == (True, "p", "t")
    assert record["page"]["sha256"] != record["twin"]["sha256"]
