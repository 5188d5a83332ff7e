"""Just enough Markdown for the tests of the documentation: fenced blocks, headings and links of a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)],
)

_FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,}|:{3,})\s*(?P<info>[^`]*)$")
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<inline>[^)\s]+)(?:\s+\"[^\"]*\")?\)|(?:src|href)=\"(?P<html>[^\"]+)\"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block; `line` is where its text starts, counted from 1."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        """The first word after the fence."""
        return self.info.split(maxsplit=1)[0] if self.info else ""

    @property
    def name(self) -> str:
        """Where a reader finds it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def split(page: Path) -> tuple[list[Block], str]:
    """The fenced blocks of a page, and its prose without them.

    Raises:
        ValueError: a fence is never closed.
    """
    blocks: list[Block] = []
    prose: list[str] = []
    opened: re.Match[str] | None = None
    start, held = 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened, start, held = fence, number + 1, []
            else:
                prose.append(line)
        elif fence and not fence["info"] and fence["ticks"].startswith(opened["ticks"]):
            blocks.append(Block(page=page, line=start, info=opened["info"].strip(), text="\n".join(held) + "\n"))
            opened = None
        else:
            held.append(line.removeprefix(opened["indent"]))
    if opened is not None:
        message = f"{page.name}:{start}: fence is never closed"
        raise ValueError(message)
    return blocks, "\n".join(prose)


def links(page: Path) -> list[str]:
    """Targets of all links and pictures that stay inside the repository."""
    prose = re.sub(r"`[^`]*`", "", split(page)[1])
    found = [match["inline"] or match["html"] for match in _LINK.finditer(prose)]
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings can be linked by."""
    titles = re.findall(r"^#{1,6}\s+(.+?)\s*#*$", split(page)[1], flags=re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title.lower())) for title in titles}
