from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negotiator.content.text import fold, has_direction_marks, sentences, visible


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("UAIX", "uaix"),
        ("ＵＡＩＸ．ｏｒｇ", "uaix"),
        ("U.A.I.X", "uaix"),
        ("U A I X runs", "uaix runs"),
        ("UА\u200bІХ", "uaix"),  # Cyrillic А, І, Х
        ("Úáïx", "uaix"),
        ("UAIX.org executes", "uaix executes"),
        ("Carcinus.org", "carcinus"),
        ("Local End-Point", "localendpoint"),
        ("LocalEndpoint.com", "localendpoint"),
        ("Java Script", "javascript"),
        ("ejecución", "ejecucion"),
        ("執行", "执行"),
        ("UAIX执行", "uaix 执行"),
        ("执 行", "执行"),
        ("one\ntwo", "one two"),
        ("one \t  two", "one two"),
        ("one\n \n\ntwo", "one\n\ntwo"),
        ("one\n- two", "one\n\n- two"),
        ("it’s “so” — yes", 'it\'s "so" - yes'),
        ("", ""),
    ],
)
def test_fold_undoes_what_hides_a_word(text, folded):
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("一。二！三？", ["一。", "二!", "三?"]),
        ("¿Sí? No.", ["¿Si?", "No."]),
        ("llms.txt and v1.2 stay whole", ["llms.txt and v1.2 stay whole"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("| a cell | another |", ["|", "a cell |", "another |"]),
        ("first\n\nsecond\n- third", ["first", "second", "- third"]),
    ],
)
def test_sentences(text, expected):
    assert list(sentences(fold(text))) == [sentence.lower() for sentence in expected]


@pytest.mark.parametrize("mark", ["\u200e", "\u200f", "\u061c", "\u202a", "\u202e", "\u2066", "\u2069"])
def test_a_direction_mark_is_seen(mark):
    assert has_direction_marks(f"safe{mark}text")


@pytest.mark.parametrize("text", ["plain", "עברית", "中文", "soft\u00adhyphen", "zero\u200bwidth"])
def test_text_without_direction_marks(text):
    assert not has_direction_marks(text)


def test_visible_keeps_case_and_drops_what_has_no_width():
    assert visible("ＡＫＩＡ\u200bx") == "AKIAx"


@settings(max_examples=100)
@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)
