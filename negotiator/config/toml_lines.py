"""Find the line of a key in a TOML text, for error messages. `tomllib` gives values without places.

It reads the everyday subset (`[table]`, `[[array]]`, `key = value` at the start of a line); for anything fancier it
answers with the table's line or with nothing, never with a wrong line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["line_of"]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"^\s*\"?([A-Za-z0-9_-]+)\"?\s*=")


def line_of(text: str, location: Sequence[str | int]) -> int | None:
    """Return the 1-based line of `location` (keys and list positions), or of the table that should hold it."""
    table: list[str | int] = []
    counts: dict[str, int] = {}
    best: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = list(header[2].split("."))
            if header[1] == "[[":
                counts[header[2]] = counts.get(header[2], -1) + 1
                table.append(counts[header[2]])
            if table == list(location[: len(table)]):
                best = number
        elif (key := _KEY.match(line)) and [*table, key[1]] == list(location[: len(table) + 1]):
            return number
    return best
