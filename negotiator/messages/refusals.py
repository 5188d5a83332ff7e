"""What makes bytes no message: the codes, and what to do about each.

A decoder raises `RequestError` with one of these codes. A route that acts answers with a problem; a route that only
checks shows the same as a finding, which `finding_of` makes.
"""

from __future__ import annotations

from types import MappingProxyType

from negotiator.errors import RequestError
from negotiator.model.findings import Finding, Severity

__all__ = ["REFUSALS", "finding_of"]

REFUSALS = MappingProxyType(
    {
        "body_malformed": "send one JSON value in UTF-8, without a byte order mark",
        "body_too_large": "send a shorter message",
        "duplicate_key": "send each key once",
        "invalid_unicode": "send UTF-8 without lone surrogates and without control characters",
        "json_too_deep": "send a flatter value",
        "keyless_overflow": "send no more slots than the field registry has",
        "keyless_shape": "send arrays in the order of the field registry, or the keyed form",
        "not_a_message": "send an object with `profile` and `body`, or the keyless array of one",
        "number_not_exact": "send integers within 2^53-1 and short decimals, or text",
        "unknown_field": "put members of your own under `extensions`",
        "unknown_profile": "use one of the published profile ids that this route accepts",
        "unsupported_alias": "write the field's full name",
    }
)
"""Remedy by code."""


def finding_of(refusal: RequestError) -> Finding:
    """Return a decoder's refusal as a finding of severity error."""
    return Finding(
        code=refusal.code,
        severity=Severity.ERROR,
        pointer=refusal.pointer or "",
        message=refusal.message,
        remedy=REFUSALS.get(refusal.code, ""),
        source="codec",
    )
