"""Content negotiation by `Accept`, with q-values.

Rules:

- The most specific range that matches an offer gives its weight; `q=0` refuses it.
- The heaviest offer wins; between equals the order of the offers decides, so put the default first.
- No `Accept` at all accepts everything. A range that does not parse accepts nothing.
- At most 64 ranges are looked at: the header is the caller's, the work is ours.

It does not look at parameters other than `q`. Source: RFC 9110 section 12.5.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["negotiate_media"]

_MAX_RANGES = 64
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE = re.compile(rf"\s*({_WORD})/({_WORD})\s*((?:;[^,]*)?)")
_WEIGHT = re.compile(r";\s*q\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*(?:;|\Z)", re.IGNORECASE)
_ANY_WEIGHT = re.compile(r";\s*q\s*=", re.IGNORECASE)


def negotiate_media(accept: str, offers: Sequence[str]) -> str | None:
    """Return the offer that `accept` likes best, or None if it takes none of them (then answer 406).

    Args:
        accept: the value of `Accept`; several lines joined by commas; empty if absent.
        offers: media types without parameters, the default first.
    """
    if not accept.strip():
        return offers[0] if offers else None
    ranges = list(_ranges(accept))
    weighed = [(_weight(offer, ranges), -place) for place, offer in enumerate(offers)]
    weight, place = max(weighed, default=(0.0, 0))
    return offers[-place] if weight > 0 else None


def _ranges(accept: str) -> Iterator[tuple[str, str, float]]:
    for part in accept.split(",", _MAX_RANGES)[:_MAX_RANGES]:
        found = _RANGE.fullmatch(part)
        if found is None:
            continue
        main, sub, parameters = found.groups()
        weight = _WEIGHT.search(parameters)
        if weight is None and _ANY_WEIGHT.search(parameters):
            continue
        yield main.lower(), sub.lower(), float(weight.group(1)) if weight else 1.0


def _weight(offer: str, ranges: Sequence[tuple[str, str, float]]) -> float:
    main, _, sub = offer.lower().partition("/")
    for wanted in ((main, sub), (main, "*"), ("*", "*")):
        weights = [weight for range_main, range_sub, weight in ranges if (range_main, range_sub) == wanted]
        if weights:
            return max(weights)
    return 0.0
