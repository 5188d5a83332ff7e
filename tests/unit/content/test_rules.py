from __future__ import annotations

import pytest

from negotiator.content.claims import find_certification_claims, find_runtime_claims
from negotiator.content.text import fold


def test_a_hit_says_which_pattern_and_which_sentence():
    (hit,) = find_runtime_claims(fold("We read pages. UAIX orchestrates us. Bye."))
    assert (hit.pattern, hit.sentence, hit.start) == ("runtime.en.executes", 1, 0)


@pytest.mark.parametrize(
    ("text", "language"),
    [("UAIX executes tasks.", "en"), ("UAIX ejecuta tareas.", "es"), ("UAIX 执行任务。", "zh")],
)
def test_each_language_has_its_own_patterns(text, language):
    assert {hit.pattern.split(".")[1] for hit in find_runtime_claims(fold(text))} == {language}


def test_one_denial_does_not_excuse_the_next_claim():
    assert find_certification_claims(fold("UAIX does not certify tools; UAIX certifies agents."))
    assert find_certification_claims(fold("UAIX does not certify tools. UAIX certifies agents."))


def test_a_negator_out_of_reach_does_not_count():
    padding = "in every case that anybody here could think of when writing this long sentence down " * 5
    assert find_runtime_claims(fold(f"not {padding} UAIX executes tasks"))


def test_too_many_mentions_are_a_hit_of_their_own():
    honest = "UAIX does not execute tasks. "
    assert find_runtime_claims(fold(honest * 100)) == ()
    assert find_runtime_claims(fold(honest * 2_000))[-1].pattern == "runtime.crowded"
