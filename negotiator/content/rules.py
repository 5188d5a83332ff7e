"""The engine of the claim scans: a table of patterns, and where in a text one of them is asserted.

Rules:

- A rule is data: an id, a language, and a pattern over one sentence of folded text.
- A group `subject` says that the pattern begins with the subject of its clause; a group `head` is the word that
  makes it a claim (without one, the end of the match).
- A rule with `polar=False` speaks in negations itself ("cannot be read without JavaScript"): none is looked for.
- Quantifiers in patterns are bounded, so a scan takes time linear in the text; matches are counted, and where there
  are far too many of them the scan stops and says so (it fails closed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from negotiator.content.negation import is_denied
from negotiator.content.text import Folded, sentences

__all__ = ["Hit", "Language", "Rule", "asserted", "rule"]

_MOST_MATCHES = 400
"""Matches, denied ones included, that one scan of one text looks into."""

Language = Literal["en", "es", "zh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What a scan found. It never holds the text itself.

    Attributes:
        pattern: the id of the pattern, e.g. `runtime.en.subject`.
        sentence: the number of the sentence from 0; 0 where the scan does not read sentences.
        start, end: offsets into the sentence (or into the visible text) as it was scanned.
    """

    pattern: str
    sentence: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern of a claim."""

    scan: str
    id: str
    pattern: re.Pattern[str]
    polar: bool = True


def rule(scan: str, language: Language, name: str, *parts: str, polar: bool = True) -> Rule:
    """Return the rule `<scan>.<language>.<name>` whose pattern is the concatenation of `parts`."""
    return Rule(scan=scan, id=f"{scan}.{language}.{name}", pattern=re.compile("".join(parts)), polar=polar)


def asserted(text: Folded, rules: Sequence[Rule], topic: re.Pattern[str]) -> Iterator[Hit]:
    """Yield each rule's asserted matches, over the sentences of `text` that mention `topic`.

    A text with more matches than an honest one has is not read to its end: it ends with a hit named `crowded`.
    """
    if not topic.search(text):
        return
    for examined, (number, each, match) in enumerate(_matches(text, rules, topic)):
        if examined == _MOST_MATCHES:
            yield Hit(pattern=f"{each.scan}.crowded", sentence=number, start=match.start(), end=match.end())
            return
        if not (each.polar and _denied(match)):
            yield Hit(pattern=each.id, sentence=number, start=match.start(), end=match.end())


def _matches(text: Folded, rules: Sequence[Rule], topic: re.Pattern[str]) -> Iterator[tuple[int, Rule, re.Match[str]]]:
    for number, sentence in enumerate(sentences(text)):
        if topic.search(sentence):
            for each in rules:
                for match in each.pattern.finditer(sentence):
                    yield number, each, match


def _denied(match: re.Match[str]) -> bool:
    groups = match.re.groupindex
    start = match.start("subject") if "subject" in groups else match.start()
    end = match.end("head") if "head" in groups else match.end()
    return is_denied(match.string, start, end, clause="subject" in groups)
