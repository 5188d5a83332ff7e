"""Every shipped example, through decoding and schemas: the valid are valid, the failing fail for their reason.

Codes that the policies find (`DECLARATION_FINDING_CODES`) are beyond this room: those examples must be well-formed
here, so that nothing but a policy refuses them.
"""

from __future__ import annotations

import json

import pytest

from negotiator.errors import RequestError
from negotiator.messages import REFUSALS, decode_message, encode_message, finding_of
from negotiator.model.findings import DECLARATION_FINDING_CODES, Severity
from negotiator.model.levels import Level
from negotiator.shipped import load_examples
from tests.support.messages import CATALOG, SMALLEST, SMALLEST_KEYLESS, VALIDATOR, example_bytes

VALID, FAILING = load_examples("valid"), load_examples("failing")
HERE = frozenset({*REFUSALS, "schema_violation"})
LEVELS = [level.name for level in Level]


def error_codes(example):
    try:
        message = decode_message(example_bytes(example), CATALOG)
    except RequestError as refusal:
        return {finding_of(refusal).code}
    findings = VALIDATOR.check_message(message, strict=example["strict"])
    return {finding.code for finding in findings if finding.severity is Severity.ERROR}


def test_every_level_and_every_rule_has_one_of_each():
    assert set(FAILING) == {*LEVELS, *HERE, *DECLARATION_FINDING_CODES}
    assert set(FAILING) <= set(VALID)


@pytest.mark.parametrize("name", VALID)
def test_a_valid_example_is_valid(name):
    assert VALID[name]["expect"] == []
    assert error_codes(VALID[name]) == set()


@pytest.mark.parametrize("name", FAILING)
def test_a_failing_example_fails_for_its_reason(name):
    expected = set(FAILING[name]["expect"])
    assert expected
    assert expected <= HERE | DECLARATION_FINDING_CODES
    assert error_codes(FAILING[name]) == expected & HERE


@pytest.mark.parametrize("name", sorted(HERE | DECLARATION_FINDING_CODES))
def test_an_example_of_a_rule_expects_that_rule(name):
    assert FAILING[name]["expect"] == [name]


@pytest.mark.parametrize("level", LEVELS)
def test_the_examples_of_levels_are_complete(level):
    message = VALID[level]["message"]
    assert VALID[level]["strict"]
    assert set(message) == set(CATALOG.envelope.fields)
    assert message["body"]["client_level"] == level


@pytest.mark.parametrize("name", [name for name in VALID if "message" in VALID[name]])
def test_valid_examples_are_one_message_in_three_encodings(name):
    message = decode_message(example_bytes(VALID[name]), CATALOG)
    for encoding in ("keyed", "minified", "keyless"):
        again = decode_message(encode_message(message, encoding, CATALOG), CATALOG)
        assert (again.keyed, again.digest, again.encoding) == (message.keyed, message.digest, encoding)


def test_the_smallest_safe_packet_is_the_published_one():
    assert SMALLEST["body"] == {
        "client_level": "L1",
        "client_name": "Structured Fetch",
        "can_fetch_static": True,
        "can_fetch_json": True,
        "can_execute_javascript": False,
        "can_post_data": False,
        "requires_human_consent_for": [],
        "fallback_behavior": "Use JSON, sitemap, llms.txt, and static HTML before requiring JavaScript.",
        "safe_default_response": "Name the exact static or JSON route and stop before write-capable action.",
    }
    assert set(SMALLEST) == {"profile", "body"}
    assert json.loads(encode_message(SMALLEST, "keyless", CATALOG)) == SMALLEST_KEYLESS


def test_the_checksum_of_the_audited_example_is_its_digest():
    message = decode_message(example_bytes(VALID["L6"]), CATALOG)
    assert message.keyed["integrity"]["checksum"] == message.digest


@pytest.mark.parametrize("language", ["en", "es", "zh"])
def test_the_boundary_is_told_in_three_languages(language):
    (text,) = VALID[f"boundary-{language}"]["message"]["body"]["known_limits"]
    assert all(name in text for name in ("UAIX", "Carcinus", "LocalEndPoint"))
