"""Laws of every scan: it never raises, it ignores what has no width, and it takes time linear in the text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negotiator.content.boundary import find_blurred_boundaries
from negotiator.content.claims import find_certification_claims, find_runtime_claims
from negotiator.content.credentials import find_credentials, is_secret_member
from negotiator.content.javascript import find_javascript_only, names_rollback, names_static_way
from negotiator.content.text import fold

SCANS = [
    lambda text: find_runtime_claims(fold(text)),
    lambda text: find_certification_claims(fold(text)),
    lambda text: find_blurred_boundaries(fold(text)),
    lambda text: find_javascript_only(fold(text)),
    lambda text: names_static_way(fold(text)),
    lambda text: names_rollback(fold(text)),
    find_credentials,
    lambda text: is_secret_member(text, text),
]
VOCABULARY = """
UAIX uaix.org Carcinus LocalEndPoint JavaScript executes runs certifies certified by is part of not never only but and
it tasks agents runtime requires with no static JSON roll back ejecuta sino que certificado por de
执行 不 不仅 由 认证 是 的一部分 任务 password= hunter2 AKIA eyJ Bearer https://a:b@c . , ; : ? | 。 if 如果
"""
WORDS = [*VOCABULARY.split(), "\n", "\n\n", "\uff0c"]
WIDTHLESS = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u202e\u2066\ufe0f"

prose = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=30).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(prose | st.text() | st.text(alphabet=st.characters(categories=["Cs", "Cf", "Mn", "Lo"])))
def test_no_scan_raises(text):
    for scan in SCANS:
        scan(text)


@settings(max_examples=100, deadline=None)
@given(prose, st.data())
def test_characters_without_width_change_no_verdict(text, data):
    dressed = "".join(c + data.draw(st.sampled_from(["", *WIDTHLESS])) for c in text)
    for scan in SCANS:
        assert bool(scan(dressed)) == bool(scan(text))


REPEATED = [
    *("uaix ", "uaix does not ", "no uaix executes ", "uaix, and ", "uaix of ", "uaix 不", "如果 uaix 执行,"),
    *("carcinus is uaix ", "carcinus is not, uaix ", "javascript requires ", "no json ", "no rollback ", "certified, "),
    *("password=", "password: x ", "eyJ", "eyJa.eyJ", "https://a:", "-----BEGIN ", "sk-", "AKIA ", "QUJD"),
    *("a", "a_", "  ", "\n", "|", "not only "),
]


@pytest.mark.parametrize("unit", REPEATED)
def test_four_times_the_text_takes_no_more_than_some_multiple_of_the_time(unit):
    """Quadratic work would take sixteen times as long, so that twelve tells it from noise."""
    short, long = (max(_seconds((unit * characters)[:characters]), 0.005) for characters in (12_000, 48_000))
    assert long / short < 12


def _seconds(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        for scan in SCANS:
            scan(text)
        return time.process_time() - start

    return min(once() for _ in range(2))
