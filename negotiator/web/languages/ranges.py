"""Choosing a language by `Accept-Language`, with q-values.

Rules:

- The heaviest range comes first, equals in their order. A range is shortened subtag by subtag until it names a
  language that there is: `es-MX` takes `es`, `zh-Hant-TW` takes `zh`.
- `q=0` refuses exactly the language that it names. `*` takes the first language that no range refuses.
- Nothing fits: the first language. A reader is better served by that than by a refusal.
- At most 64 ranges are looked at. What does not parse is passed over.

Source: RFC 9110 section 12.5.4, RFC 4647 section 3.4 (lookup).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

__all__ = ["negotiate_language"]

_MAX_RANGES = 64
_WEIGHT = r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?"
_RANGE = re.compile(rf"\s*([a-z]{{1,8}}(?:-[a-z0-9]{{1,8}})*|\*)\s*(?:;\s*q\s*=\s*({_WEIGHT})\s*)?", re.IGNORECASE)


def negotiate_language(accept_language: str, offers: Sequence[str]) -> str:
    """Return the one of `offers` that `accept_language` likes best, or the first.

    Args:
        accept_language: the header's value, several lines joined by commas; empty if absent.
        offers: lower-case language tags, the default first.
    """
    ranges = sorted(_ranges(accept_language), key=lambda each: -each[1])
    left = [offer for offer in offers if (offer, 0.0) not in ranges]
    found = (_looked_up(tag, left) for tag, weight in ranges if weight > 0)
    return next((offer for offer in found if offer), offers[0])


def _ranges(accept_language: str) -> Iterator[tuple[str, float]]:
    for part in accept_language.split(",", _MAX_RANGES)[:_MAX_RANGES]:
        found = _RANGE.fullmatch(part)
        if found is not None:
            yield found[1].lower(), float(found[2] or 1)


def _looked_up(tag: str, offers: Collection[str]) -> str:
    if tag == "*":
        return next(iter(offers), "")
    while tag and tag not in offers:
        tag = tag.rpartition("-")[0]
    return tag
