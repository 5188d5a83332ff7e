"""Parity: whether a page shows what its JSON twin says.

Rules:

- What a page shows is the text that a reader sees without running anything, and the addresses of its links. Scripts,
  styles, templates and hidden elements show nothing.
- What the twin says in words (a text with a space in it) has to stand there; white space does not count, nor does the
  case of letters. Each that does not is a difference, named by its JSON Pointer.
- Details for machines (names, numbers, addresses) are counted and may be left out of a page. True, false and null are
  shown in many ways and are not looked for.

It does not: fetch, or say that the page shows nothing else.

Source: CAP-26.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Final

from negotiator.canonical import JsonValue, decode_json, escape_pointer, sha256_hex
from negotiator.errors import RequestError

__all__ = ["MAX_DIFFERENCES", "Comparison", "Difference", "compare", "parity_record", "shown_by"]

MAX_DIFFERENCES: Final = 100
"""Differences beyond these are not listed."""

_SILENT: Final = frozenset({"script", "style", "template", "noscript", "object", "svg"})
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_LONGEST_SHOWN = 200
_DETAIL, _SENTENCE = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One sentence that the twin says and the page does not show.

    Attributes:
        pointer: where it stands in the twin.
        value: its text, cut to 200 characters.
    """

    pointer: str
    value: str

    def as_json(self) -> dict[str, str]:
        """Return the members of a parity record."""
        return {"pointer": self.pointer, "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a page shows of its twin.

    Attributes:
        sentences, details: how many the twin has, and how many of them the page shows.
        differences: the sentences that it does not show, in the order of the twin, at most 100.
    """

    sentences: tuple[int, int]
    details: tuple[int, int]
    differences: tuple[Difference, ...]

    @property
    def agrees(self) -> bool:
        """Whether every sentence is shown, and there is something to show."""
        said, shown = self.sentences
        return said == shown and said + self.details[0] > 0

    def as_json(self) -> dict[str, Any]:
        """Return the members of a parity record."""
        return {
            "agrees": self.agrees,
            "sentences": dict(zip(("said", "shown"), self.sentences, strict=True)),
            "details": dict(zip(("said", "shown"), self.details, strict=True)),
            "differences": [difference.as_json() for difference in self.differences],
        }


def parity_record(
    page: bytes, twin: bytes, *, page_url: str, twin_url: str, max_bytes: int = 1_048_576
) -> dict[str, Any]:
    """Return the record of a page and its twin: their digests, and what the page shows.

    Args:
        page: HTML in UTF-8.
        twin: JSON.
        page_url: where the page was read.
        twin_url: where the twin was read.
        max_bytes: longest twin that is looked at.

    Raises:
        RequestError: `parity_unusable`: the page is no UTF-8, or the twin no JSON. No other exception escapes.
    """
    try:
        shown, value = shown_by(page.decode()), decode_json(twin, max_bytes=max_bytes)
    except (UnicodeDecodeError, RequestError) as problem:
        what = "page is no text in UTF-8" if isinstance(problem, UnicodeDecodeError) else "twin is no JSON"
        message = f"the {what}, so there is nothing to compare"
        raise RequestError(message, code="parity_unusable") from None
    return {
        "page": {"url": page_url, "sha256": sha256_hex(page)},
        "twin": {"url": twin_url, "sha256": sha256_hex(twin)},
        **compare(shown, value).as_json(),
    }


def shown_by(page: str) -> str:
    """Return the text that an HTML page shows, and after it the addresses of its links."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return " ".join((*"".join(reader.texts).split(), *reader.addresses))


def compare(shown: str, twin: JsonValue) -> Comparison:
    """Return what `shown` (as `shown_by` gives it, or plain text) holds of what the twin says."""
    text = _plain(shown)
    said, found = [0, 0], [0, 0]
    missing: list[Difference] = []
    for pointer, leaf in _leaves(twin):
        kind = _SENTENCE if len(leaf.split()) > 1 else _DETAIL
        stands = _plain(leaf) in text
        said[kind] += 1
        found[kind] += stands
        if kind == _SENTENCE and not stands and len(missing) < MAX_DIFFERENCES:
            missing.append(Difference(pointer=pointer, value=leaf[:_LONGEST_SHOWN]))
    return Comparison(
        sentences=(said[_SENTENCE], found[_SENTENCE]),
        details=(said[_DETAIL], found[_DETAIL]),
        differences=tuple(missing),
    )


def _plain(text: str) -> str:
    """Return `text` without white space and without case: line breaks and markup between words do not count."""
    return "".join(text.split()).casefold()


def _leaves(twin: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield pointer and text of every text and number, in the order of the document; without recursion."""
    stack: list[tuple[str, JsonValue]] = [("", twin)]
    while stack:
        pointer, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{pointer}/{escape_pointer(key)}", value[key]) for key in reversed(value))
        elif isinstance(value, list):
            stack.extend((f"{pointer}/{place}", value[place]) for place in reversed(range(len(value))))
        elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield pointer, str(value)


class _Reader(HTMLParser):
    """Collects what is seen; an element that is never closed hides no more than its own page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.addresses: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if self._hidden or tag in _SILENT or "hidden" in attributes or attributes.get("aria-hidden") == "true":
            if tag not in _VOID:
                self._hidden.append(tag)
            return
        if tag in {"a", "link"} and (address := attributes.get("href")):
            self.addresses.append(address)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)
