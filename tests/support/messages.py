"""Made-up messages: a strategy of valid ones at every level, and the bytes of the shipped examples."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from negotiator.canonical import MAX_EXACT_INTEGER
from negotiator.messages import Validator
from negotiator.model.levels import ABILITIES, PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog, load_examples

CATALOG = load_catalog()
VALIDATOR = Validator(CATALOG)
SMALLEST: dict[str, Any] = load_examples("valid")["smallest-safe-packet"]["message"]
SMALLEST_KEYLESS: list[Any] = load_examples("valid")["smallest-safe-packet-keyless"]["message"]

_CONTROL = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=_CONTROL), min_size=1, max_size=12)
prose = lines | st.sampled_from(["两行\n文字", "tab\there", "a \U0001f600 b", 'quote " and back\\slash', "\u2028"])
integers = st.integers(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER)
decimals = st.sampled_from([0.1, -2.5, 1e-7, 5e-324, 123456.789]) | st.floats(-1000, 1000).filter(
    lambda number: not number.is_integer()
)
scalars = st.booleans() | integers | decimals | prose
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(lines, inner, max_size=3), max_leaves=6
)
objects = st.dictionaries(lines, values, max_size=3)


def _capability_body(level: Level) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "client_level": st.just(level.name),
            "client_name": lines,
            "fallback_behavior": prose,
            "safe_default_response": prose,
        },
        optional={
            **{ability: st.booleans() for ability in ABILITIES},
            "requires_human_consent_for": st.lists(lines, max_size=3),
            "declared_or_required_uaix_profiles": st.just([PROFILE_OF_LEVEL[level]]),
            "known_limits": st.lists(prose, max_size=3),
            "evidence_requirements": st.lists(lines, max_size=3),
        },
    )


def _message(level: Level) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "profile": st.sampled_from([PROFILE_OF_LEVEL[level], "uai.capability.profile.v1"]),
            "body": _capability_body(level),
        },
        optional={
            "uai_version": st.just("1.0"),
            "message_id": lines,
            "source": objects | lines,
            "target": objects | lines,
            "conversation": st.fixed_dictionaries({}, optional={"correlation_id": lines}),
            "delivery": st.fixed_dictionaries(
                {}, optional={"expires_at": st.just("2099-12-31T00:00:00Z"), "timeout_ms": st.integers(1, 10**9)}
            ),
            "trust": objects | lines,
            "provenance": objects | st.lists(objects, max_size=2),
            "integrity": st.fixed_dictionaries({}, optional={"algorithm": lines, "checksum": lines}),
            "extensions": objects,
        },
    )


keyed_messages = st.sampled_from(Level).flatmap(_message)
"""Valid keyed capability messages of every level."""


def example_bytes(example: dict[str, Any]) -> bytes:
    """Return what an example sends: its `raw` text, repeated `times`, or its `message`."""
    if "raw" in example:
        return (example["raw"] * example.get("times", 1)).encode()
    return json.dumps(example["message"]).encode()
