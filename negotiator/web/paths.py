r"""Other readings of a path: what some site behind us might take it for.

Rules:

- Servers, frameworks and file systems disagree about `//`, `\`, `;a=b`, `%2F`, dot segments, a second decoding, NUL,
  trailing dots and blanks, and Unicode width. `readings` applies every subset of these habits.
- Routers disagree about where `root_path` ends, too (`other_route_paths`).
- A path without any of that has one reading: itself. Case is not a reading; the route table compares without it.
- `is_refused_on_governed` names the spellings that no honest client sends: control characters, a backslash, dot
  segments, an escape that is left after decoding.

It does not know rules. Pure functions of their arguments.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from urllib.parse import unquote

__all__ = ["MAX_ODD_PATH", "is_odd", "is_refused_on_governed", "other_route_paths", "readings", "route_path"]

MAX_ODD_PATH = 2048
"""Longest path, in characters, whose readings are worked out; a longer odd one is ambiguous by itself."""

_REFUSED = re.compile(r"[\x00-\x1f\x7f\\]|(?:^|/)\.{1,2}(?:/|\Z)|%[0-9A-Fa-f]{2}")
_ODD = re.compile(r"//|;|[ .](?:/|\Z)|[^\x00-\x7f]")
_ODD_ESCAPE = re.compile(
    r"%(?:[01][0-9A-F]|7F"  # control characters
    r"|2[DEF5]|5C"  # - . / % and the backslash
    r"|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)",  # letters, digits, _ and ~, which need no escape
    re.IGNORECASE,
)
_BLANK_ENDS = re.compile(r"(?<=[^./ ])[ .]+(?=/|\Z)")
_PARAMETERS = re.compile(r";[^/]*")
_SLASHES = re.compile(r"/{2,}")
_CONTROLS = re.compile(r"[\x01-\x1f\x7f]")
_MAX_DECODINGS = 4


def route_path(path: str, root_path: str) -> str:
    """Return the path below `root_path`, as routers see it. ASGI puts `root_path` into `path`."""
    root = root_path.rstrip("/")
    if not root or not path.startswith(root):
        return path
    below = path[len(root) :]
    return below if not below or below[0] == "/" else path


def other_route_paths(path: str, root_path: str) -> frozenset[str]:
    """Return what routers that cut `root_path` off in another way see.

    Some cut it off in the middle of a segment, some only where a slash follows what is written, its own slash included.
    """
    root = root_path.rstrip("/")
    if not root or not path.startswith(root):
        return frozenset()
    half = f"/{path[len(root) :].lstrip('/')}"
    found = {half} if path[len(root) : len(root) + 1] != "/" else set()
    return frozenset(found | ({path} if root != root_path else set()))


def is_odd(path: str, raw: str) -> bool:
    """Whether the path may be read in more than one way.

    Args:
        path: decoded once.
        raw: as the client sent it.
    """
    return bool(_ODD.search(path) or _REFUSED.search(path) or _ODD_ESCAPE.search(raw))


def is_refused_on_governed(path: str) -> bool:
    """Whether the decoded path is spelt as no honest client spells one."""
    return _REFUSED.search(path) is not None


def readings(path: str, raw: str) -> frozenset[str]:
    """Return every path that the request may be taken for, itself included.

    The set is bounded: each of the seven habits at most doubles it.
    """
    found = {path, raw} if _ODD_ESCAPE.search(raw) else {path}
    for habit in _HABITS:
        found |= {habit(reading) for reading in found}
    return frozenset(found)


def _decoded(path: str) -> str:
    for _ in range(_MAX_DECODINGS):
        again = unquote(path)
        if again == path:
            break
        path = again
    return path


def _normalised(path: str) -> str:
    return unicodedata.normalize("NFKC", path)


def _trimmed(path: str) -> str:
    """As C strings, browsers and file systems trim: cut at NUL, without controls and blank ends."""
    return _BLANK_ENDS.sub("", _CONTROLS.sub("", path.partition("\0")[0]))


def _without_dot_segments(path: str) -> str:
    """Source: RFC 3986 section 5.2.4."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept) or "/"


_HABITS: Sequence[Callable[[str], str]] = (
    _decoded,
    _normalised,
    _trimmed,
    lambda path: path.replace("\\", "/"),
    lambda path: _PARAMETERS.sub("", path),
    lambda path: _SLASHES.sub("/", path),
    _without_dot_segments,
)
