"""The form in which text is scanned, its sentences, and marks that change how text is shown.

Rules:

- `fold` undoes what hides a word from a reader's eye but not from a reader: width, case, accents, invisible
  characters, lookalike letters, line breaks inside a sentence, spaced-out names, traditional Chinese forms.
- Folding is idempotent. Characters that have no width never change its result.
- A blank line, a list item and a table cell end a sentence; a single line break does not.

What this module does not do: translate, transliterate whole scripts, or guess at words that are misspelt on purpose.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NewType

__all__ = ["Folded", "fold", "has_direction_marks", "sentences", "visible"]

Folded = NewType("Folded", str)
"""Text as `fold` returns it: what the claim scans read."""

# Characters without width: format controls, variation selectors, Hangul fillers, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Bidirectional embeddings, overrides, isolates and marks (UAX #9).
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_COMBINING = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_SPACES = re.compile(r"\s{2,}|[^\S ]")
_ITEM_MARKS = frozenset("-*•|#>")

# Letters of other scripts that look like a Latin one after case folding (a part of Unicode's confusables).
_LOOKALIKES = {
    "а": "a", "в": "b", "с": "c", "ԁ": "d", "е": "e", "һ": "h", "н": "h", "і": "i", "ј": "j", "к": "k", "м": "m",
    "о": "o", "р": "p", "ԛ": "q", "ѕ": "s", "т": "t", "ս": "u", "ѵ": "v", "ԝ": "w", "х": "x", "у": "y", "ո": "n",
    "α": "a", "β": "b", "ε": "e", "η": "n", "ι": "i", "κ": "k", "ν": "v", "ο": "o", "ρ": "p", "τ": "t", "υ": "u",
    "χ": "x", "ı": "i", "ɑ": "a", "ɩ": "i", "ᴀ": "a", "ᴄ": "c", "ᴇ": "e", "ɪ": "i", "ɴ": "n", "ᴏ": "o", "ʀ": "r",
    "ꜱ": "s", "ᴛ": "t", "ᴜ": "u",
}  # fmt: skip
# Traditional forms of the characters that the patterns name, each followed by its simplified form.
_TRADITIONAL = (
    "執执 運运 認认 證证 託托 擔担 書书 僅仅 沒没 無无 絕绝 從从 並并 卻却 為为 動动 時时 編编 調调 獲获 經经 過过 "
    "給给 實实 現现 "
    "屬属 於于 體体 網网 務务 們们 業业 產产 組组 擴扩 協协 專专 開开 啟启 還还 將将 會会 說说 聲声 稱称 應应 該该 "
    "對对 讓让 頁页 純纯 "
    "賴赖 須须 達达 鏈链 擁拥 內内 後后 備备 憑凭 靜静 態态 撤撤 銷销 滾滚 復复 還还 腳脚 間间 處处 來来 這这 個个 "
    "嗎吗 單单 異异"
)
_PUNCTUATION = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "、": ","}
_TRANSLATION = str.maketrans(_LOOKALIKES | {pair[0]: pair[1] for pair in _TRADITIONAL.split()} | _PUNCTUATION)

_HAN = "\u3400-\u9fff"
_HAN_GAP = re.compile(f"(?<=[{_HAN}]) (?=[{_HAN}])")
_HAN_EDGE = re.compile(f"(?<=[{_HAN}])(?=[a-z0-9])|(?<=[a-z0-9])(?=[{_HAN}])")

# One spelling for each name: spaced out, hyphenated, with or without its domain.
_NAMES = (
    ("uaix", re.compile(r"\bu([ ._*-])a\1i\1x\b|\buaix\.org\b")),
    ("carcinus", re.compile(r"\bc([ ._*-])a\1r\1c\1i\1n\1u\1s\b|\bcarcinus\.org\b")),
    ("localendpoint", re.compile(r"\blocal[ _-]?end[ _-]?points?\b(?:\.com\b)?")),
    ("javascript", re.compile(r"\bjava[ -]script\b|\becmascript\b")),
)

_SENTENCE_END = re.compile(r"""\.+["')\]»]*(?= |$)|[!?。]+["')\]»]*|\n+|(?:^|(?<= ))\|""")


def visible(text: str) -> str:
    """Return `text` in compatibility form (NFKC) without characters that have no width; case is kept."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


def has_direction_marks(text: str) -> bool:
    """Return whether `text` holds a character that changes the direction in which text is shown.

    Source: UAX #9.
    """
    return not text.isascii() and _DIRECTION.search(text) is not None


def fold(text: str) -> Folded:
    """Return the form of `text` that the claim scans read.

    Invariant: `fold(fold(text)) == fold(text)`, and characters without width do not change the result.
    """
    folded = text.lower() if text.isascii() else _latin(text)
    folded = _SPACES.sub(_space, _CONTROL.sub(" ", folded)).strip()
    if not folded.isascii():
        folded = _HAN_EDGE.sub(" ", _HAN_GAP.sub("", folded))
    for name, spelling in _NAMES:
        folded = spelling.sub(name, folded)
    return Folded(folded)


def sentences(text: Folded) -> Iterator[str]:
    """Yield the sentences of `text`, each with the mark that ends it."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if sentence := text[start : end.end()].strip():
            yield sentence
        start = end.end()
    if sentence := text[start:].strip():
        yield sentence


def _latin(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text))
    plain = unicodedata.normalize("NFKD", decomposed.casefold())
    return _COMBINING.sub("", plain).translate(_TRANSLATION)


def _space(run: re.Match[str]) -> str:
    """One space, or a line break where the run of white space ends a paragraph or begins an item."""
    breaks = run[0].count("\n") + run[0].count("\u2029")
    item = breaks and run.string[run.end() : run.end() + 1] in _ITEM_MARKS
    return "\n\n" if breaks > 1 or item else " "
