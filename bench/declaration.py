"""Checking a declaration: our validator against a reused `jsonschema` validator of the same schema."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
from jsonschema import Draft202012Validator

from bench.measure import Row, ratio
from negotiator.messages import Validator, decode_message
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog

__all__ = ["rows"]


def rows() -> Iterator[Row]:
    """Yield `validate_declaration`: the whole check of an L6 message against the envelope and body schemas."""
    catalog = load_catalog()
    message = decode_message(orjson.dumps(catalog.examples[PROFILE_OF_LEVEL[Level.L6]]), catalog)
    ours = Validator(catalog)
    envelope = Draft202012Validator(dict(catalog.schemas["envelope"]))
    body = Draft202012Validator(dict(catalog.schemas["capability"]))
    keyed = dict(message.keyed)

    def check() -> object:
        return ours.check_message(message, strict=False)

    def baseline() -> object:
        return envelope.is_valid(keyed), body.is_valid(keyed["body"])

    assert check() == []
    assert baseline() == (True, True)
    yield ratio(check, baseline, calls=20).row("validate_declaration", bound=0.05)
