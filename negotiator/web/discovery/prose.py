"""Markdown and plain text, made from our own HTML pages.

Rules:

- One template gives all three, so a reader of Markdown misses nothing that a reader of HTML sees.
- Only the elements that our templates use are known; any other is a fault of a template and raises `KeyError`.
- In Markdown every sign of the text that would mean something is escaped: a hostile name stays text there, too.
- Plain text has no marks at all; an address follows its words in brackets.

It does not read HTML of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import MappingProxyType

__all__ = ["markdown_of", "text_of"]

_MEANINGFUL = re.compile(r"([\\`*_\[\]<>&~])")
_BEGINNING = re.compile(r"^(\d*)([#+=.)-])")
_INLINE = frozenset({"a", "b", "code", "small", "span"})


@dataclass(slots=True, kw_only=True)
class _Element:
    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: list[_Element | str] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[_Element]:
        """Yield every element below this one that has one of the tags, in order."""
        for child in self.children:
            if isinstance(child, _Element):
                if child.tag in tags:
                    yield child
                yield from child.all(*tags)

    @property
    def text(self) -> str:
        """The text, with its line breaks."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class _Tree(HTMLParser):
    """The elements of a page that closes whatever it opens."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.root = _Element(tag="page")
        self._open = [self.root]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = _Element(tag=tag, attributes={name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


class _Markdown:
    """How Markdown says it (CommonMark, with the tables of GitHub)."""

    def words(self, text: str) -> str:
        return _MEANINGFUL.sub(r"\\\1", text)

    def opening(self, line: str) -> str:
        """Keep a line from beginning a heading, a list or a rule."""
        return _BEGINNING.sub(r"\1\\\2", line)

    def a(self, words: str, href: str) -> str:
        return f"[{words}]({href.replace('(', '%28').replace(')', '%29')})"

    def b(self, words: str) -> str:
        return f"**{words}**"

    def code(self, text: str) -> str:
        fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
        blank = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{fence}{blank}{text}{blank}{fence}"

    def heading(self, words: str, depth: int) -> str:
        return f"{'#' * depth} {words}"

    def quote(self, words: str) -> str:
        return f"> {words}"

    def block(self, code: str) -> str:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", code)), 3)
        return f"{fence}\n{code}\n{fence}"

    def table(self, names: list[str], rows: list[list[str]]) -> str:
        lines = [names, ["---"] * len(names), *rows]
        whole = [[cell.replace("|", r"\|") for cell in line] for line in lines]
        return "\n".join(f"| {' | '.join(line)} |" for line in whole)


class _Text(_Markdown):
    """How plain text says it."""

    def words(self, text: str) -> str:
        return text

    def opening(self, line: str) -> str:
        return line

    def a(self, words: str, href: str) -> str:
        return words if words == href else f"{words} [{href}]"

    def b(self, words: str) -> str:
        return words

    def code(self, text: str) -> str:
        return text

    def heading(self, words: str, depth: int) -> str:
        return f"{words}\n{('=', '-')[depth > 1] * len(words)}"

    def quote(self, words: str) -> str:
        return words

    def block(self, code: str) -> str:
        return "\n".join(f"    {line}" for line in code.splitlines())

    def table(self, names: list[str], rows: list[list[str]]) -> str:
        return "\n\n".join(_record(names, row) for row in rows)


def _record(names: list[str], row: list[str]) -> str:
    """Return a row as lines: its first cell, then each other with its column's name."""
    rest = [f"  {name}: {cell}" for name, cell in zip(names[1:], row[1:], strict=True) if cell]
    return "\n".join([row[0], *rest])


def markdown_of(page: str) -> bytes:
    """Return the content of one of our pages as Markdown, in UTF-8."""
    return _written(page, _Markdown())


def text_of(page: str) -> bytes:
    """Return the content of one of our pages as plain text, in UTF-8."""
    return _written(page, _Text())


def _written(page: str, form: _Markdown) -> bytes:
    main = next(_Tree(page).root.all("main"))
    blocks = [_BLOCKS[child.tag](child, form) for child in main.children if isinstance(child, _Element)]
    return ("\n\n".join(block for block in blocks if block) + "\n").encode()


def _inline(element: _Element | str, form: _Markdown) -> str:
    """Return what stands in one line; blanks around it stay."""
    if isinstance(element, str):
        return form.words(re.sub(r"\s+", " ", element))
    if element.tag == "code":
        return form.code(" ".join(element.text.split()))
    words = "".join(_inline(child, form) for child in element.children)
    match element.tag:
        case "a":
            return form.a(words.strip(), element.attributes["href"])
        case "b":
            return form.b(words)
        case "small":
            return f" ({words})"
        case _:
            return words


def _pieces(element: _Element, form: _Markdown) -> list[str]:
    """Return the runs of words and the paragraphs and list items inside an element, one line each."""
    pieces, run = [], ""
    for child in element.children:
        if isinstance(child, str) or child.tag in _INLINE:
            run += _inline(child, form)
            continue
        inner = [piece for item in child.all("li") for piece in _pieces(item, form)]
        pieces += [run, *(inner or [_line(child, form)])]
        run = ""
    return [piece.strip() for piece in (*pieces, run) if piece.strip()]


def _line(element: _Element, form: _Markdown) -> str:
    return re.sub(" +", " ", "".join(_inline(child, form) for child in element.children)).strip()


def _paragraph(element: _Element, form: _Markdown) -> str:
    return form.opening(_line(element, form))


def _heading(element: _Element, form: _Markdown) -> str:
    return form.heading(_line(element, form), int(element.tag[1]))


def _list(element: _Element, form: _Markdown) -> str:
    items = (_pieces(item, form) for item in element.all("li"))
    return "\n".join("- " + "\n  ".join(form.opening(piece) for piece in pieces) for pieces in items)


def _terms(element: _Element, form: _Markdown) -> str:
    terms, meanings = element.all("dt"), element.all("dd")
    return "\n".join(
        f"- {form.b(_line(term, form))}: {'; '.join(_pieces(meaning, form))}"
        for term, meaning in zip(terms, meanings, strict=True)
    )


def _table(element: _Element, form: _Markdown) -> str:
    captions = [_paragraph(caption, form) for caption in element.all("caption")]
    head, *rows = [["; ".join(_pieces(cell, form)) for cell in row.all("th", "td")] for row in element.all("tr")]
    return "\n\n".join([*captions, form.table(head, rows)])


_BLOCKS: Mapping[str, Callable[[_Element, _Markdown], str]] = MappingProxyType(
    {
        "h1": _heading,
        "h2": _heading,
        "p": _paragraph,
        "ul": _list,
        "dl": _terms,
        "table": _table,
        "blockquote": lambda element, form: form.quote(_line(element, form)),
        "pre": lambda element, form: form.block(element.text),
    }
)
"""How each element that stands alone is written."""
