"""The corpora of the text scans: what must be found, what must pass, also when it is dressed up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from negotiator.content.boundary import find_blurred_boundaries
from negotiator.content.claims import find_certification_claims, find_runtime_claims
from negotiator.content.credentials import find_credentials
from negotiator.content.javascript import find_javascript_only
from negotiator.content.rules import Hit
from negotiator.content.text import fold

SCANS: dict[str, Callable[[str], tuple[Hit, ...]]] = {
    "runtime": lambda text: find_runtime_claims(fold(text)),
    "certification": lambda text: find_certification_claims(fold(text)),
    "boundary": lambda text: find_blurred_boundaries(fold(text)),
    "javascript": lambda text: find_javascript_only(fold(text)),
    "credentials": find_credentials,
}
CORPORA = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in Path(__file__).parent.glob("*.yaml")}
CLAIMS = sorted(SCANS.keys() - {"credentials"})

FULL_WIDTH = {code: code + 0xFEE0 for code in range(ord("a"), ord("z") + 1)} | {
    code: code + 0xFEE0 for code in range(ord("A"), ord("Z") + 1)
}
DISGUISES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "zero width": "\u200b".join,
    "soft hyphens and joiners": lambda text: (
        text.replace("e", "e\u00ad").replace("a", "a\u2060").replace("执", "\ufeff执")
    ),
    "full width": lambda text: text.translate(FULL_WIDTH),
    "upper case": lambda text: text.upper(),
    "line breaks": lambda text: text.replace(" ", "\n"),
    "wide spaces": lambda text: text.replace(" ", "\u3000 "),
    "in a paragraph": lambda text: f"We read pages.\n\n{text}\n\nThat is all.",
}


def cases(side: str, scans: list[str]) -> list[tuple[str, str]]:
    return [
        (scan, text if isinstance(text, str) else "".join(text))
        for scan in scans
        for texts in CORPORA[scan][side].values()
        for text in texts
    ]


def test_every_scan_has_a_corpus_of_some_size():
    assert CORPORA.keys() == SCANS.keys()
    for corpus in CORPORA.values():
        assert sum(map(len, corpus["must_hit"].values())) >= 25
        assert sum(map(len, corpus["must_pass"].values())) >= 40


@pytest.mark.parametrize(("scan", "text"), cases("must_hit", sorted(SCANS)))
def test_is_found(scan, text):
    assert SCANS[scan](text)


@pytest.mark.parametrize(("scan", "text"), cases("must_pass", sorted(SCANS)))
def test_passes(scan, text):
    assert SCANS[scan](text) == ()


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("scan", CLAIMS)
def test_a_disguise_changes_no_verdict(scan, disguise):
    dress = DISGUISES[disguise]
    missed = [text for name, text in cases("must_hit", [scan]) if not SCANS[name](dress(text))]
    refused = [text for name, text in cases("must_pass", [scan]) if SCANS[name](dress(text))]
    assert (missed, refused) == ([], [])


@pytest.mark.parametrize("disguise", ["zero width", "soft hyphens and joiners", "full width", "in a paragraph"])
def test_a_disguise_hides_no_credential(disguise):
    dress = DISGUISES[disguise]
    missed = [text for _, text in cases("must_hit", ["credentials"]) if not find_credentials(dress(text))]
    refused = [text for _, text in cases("must_pass", ["credentials"]) if find_credentials(dress(text))]
    assert (missed, refused) == ([], [])


@pytest.mark.parametrize("scan", CLAIMS)
def test_honest_sentences_together_are_honest(scan):
    """No negation depends on standing alone."""
    whole = " ".join(text if text[-1] in ".?。\uff1f" else f"{text}." for _, text in cases("must_pass", [scan]))
    assert SCANS[scan](whole) == ()


@pytest.mark.parametrize(("scan", "other"), [(a, b) for a in sorted(SCANS) for b in CLAIMS if a != b])
def test_what_passes_one_scan_passes_the_others_unless_it_says_so_too(scan, other):
    """A sentence that is honest about one thing is no claim about another."""
    assert [text for _, text in cases("must_pass", [scan]) if SCANS[other](text)] == []
