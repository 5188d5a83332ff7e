"""One name for one thing: resource and tool names are normalised once, when configuration is loaded.

Cedar compares strings by code point, so `Comments`, `comments ` and full-width `ｃomments` would be three resources
and a forbid on one would miss the others.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["normalised_name"]

_SEPARATORS = re.compile(r"[\s_-]+")


def normalised_name(name: str) -> str:
    """Return `name` in Unicode NFKC, case-folded, trimmed, with spaces, `_` and `-` runs as one `-`."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _SEPARATORS.sub("-", folded.strip()).strip("-")
