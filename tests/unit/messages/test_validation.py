"""What a message's form is told: codes, pointers, bounded words, and what the strict check asks for."""

from __future__ import annotations

import jsonschema_rs
import orjson
import pytest

from negotiator.messages import SchemaCheck, decode_message, unknown_body_keys
from negotiator.messages.validation import MAX_FINDINGS
from negotiator.messages.violations import Violation
from negotiator.model.findings import Severity
from negotiator.shipped import load_examples
from tests.support.messages import CATALOG, SMALLEST, VALIDATOR

WHOLE = load_examples("valid")["L4"]["message"]


def check(value, *, strict=False):
    return VALIDATOR.check_message(decode_message(orjson.dumps(value), CATALOG), strict=strict)


def with_body(**body):
    return WHOLE | {"body": WHOLE["body"] | body}


WRONG = [
    (with_body(client_level="L7"), "/body/client_level", "'L7' is none of L0, L1, L2, L3, L4, L5, L6"),
    (with_body(client_level="L1\n"), "/body/client_level", "'L1\\n' is none of L0, L1, L2, L3, L4, L5, L6"),
    (with_body(can_call_tools="yes"), "/body/can_call_tools", "expected boolean, not text"),
    (with_body(can_call_tools=None), "/body/can_call_tools", "expected boolean, not null"),
    (with_body(can_call_tools=1), "/body/can_call_tools", "expected boolean, not a number"),
    (with_body(known_limits="none"), "/body/known_limits", "expected array, not text"),
    (with_body(known_limits=["a", 5]), "/body/known_limits/1", "expected string, not a number"),
    (with_body(known_limits=["a"] * 65), "/body/known_limits", "the list has more than 64 items"),
    (with_body(client_name=""), "/body/client_name", "the text is shorter than 1 characters"),
    (with_body(client_name="x" * 256), "/body/client_name", "the text is longer than 255 characters"),
    (with_body(client_name="two\nlines"), "/body/client_name", "'two\\nlines' may not stand here"),
    (with_body(x_own=None), "/body/x_own", "'None' may not stand here"),
    (WHOLE | {"uai_version": "2.0"}, "/uai_version", "'2.0' is not '1.0'"),
    (WHOLE | {"body": []}, "/body", "expected object, not a list"),
    (WHOLE | {"trust": None}, "/trust", "expected object or string, not null"),
    (
        WHOLE | {"delivery": {"expires_at": "tomorrow"}},
        "/delivery/expires_at",
        "'tomorrow' is not in the form that it needs",
    ),
    (WHOLE | {"delivery": {"timeout_ms": 0}}, "/delivery/timeout_ms", "'0' is less than 1"),
    (WHOLE | {"delivery": {"timeout_ms": 1.5}}, "/delivery/timeout_ms", "expected integer, not a number"),
    (
        WHOLE | {"conversation": {"correlation_id": ""}},
        "/conversation/correlation_id",
        "the text is shorter than 1 characters",
    ),
]


@pytest.mark.parametrize(("value", "pointer", "message"), WRONG, ids=lambda value: str(value)[-40:])
def test_what_is_wrong_is_told_where_and_how(value, pointer, message):
    findings = [finding for finding in check(value) if finding.severity is Severity.ERROR]
    assert [(finding.code, finding.pointer, finding.message) for finding in findings] == [
        ("schema_violation", pointer, message)
    ]
    assert findings[0].remedy
    assert findings[0].source in {"schema:envelope", "schema:capability"}


def test_everything_that_is_wrong_is_told_at_once_in_order():
    findings = check(with_body(client_level="L7", can_post_data="no") | {"uai_version": "3"})
    assert [finding.pointer for finding in findings] == ["/uai_version", "/body/can_post_data", "/body/client_level"]


def test_a_remedy_says_what_would_be_right():
    (finding,) = check(with_body(can_call_tools="yes"))
    assert finding.remedy == "send true or false; absent means false"


def test_the_default_accepts_the_smallest_safe_packet_and_strict_names_what_it_lacks():
    assert check(SMALLEST) == []
    (finding,) = check(SMALLEST, strict=True)
    assert (finding.code, finding.pointer) == ("schema_violation", "/body")
    lacking = [field for field in CATALOG.profiles[SMALLEST["profile"]].order.fields if field not in SMALLEST["body"]]
    assert finding.message == f"missing: {', '.join(lacking)}"
    assert len(lacking) == 9


@pytest.mark.parametrize("field", ["client_level", "client_name", "fallback_behavior", "safe_default_response"])
def test_the_smallest_safe_packet_cannot_be_smaller(field):
    body = {name: value for name, value in SMALLEST["body"].items() if name != field}
    (finding,) = check(SMALLEST | {"body": body})
    assert (finding.code, finding.message) == ("schema_violation", f"missing: {field}")


@pytest.mark.parametrize("field", load_examples("valid")["L0"]["message"]["body"])
def test_strict_asks_for_each_of_the_eighteen(field):
    body = {name: value for name, value in WHOLE["body"].items() if name != field}
    assert check(WHOLE, strict=True) == []
    assert [finding.message for finding in check(WHOLE | {"body": body}, strict=True)] == [f"missing: {field}"]


def test_an_unknown_body_key_is_a_warning():
    (finding,) = check(with_body(**{"x/y": 1}))
    assert (finding.code, finding.severity, finding.pointer) == ("unknown_body_key", "warning", "/body/x~1y")


def test_a_body_without_a_published_schema_may_be_any_object():
    ack = decode_message(b'{"profile":"uai.agent.ack.v1","body":{"anything":null}}', CATALOG)
    assert VALIDATOR.check_message(ack, strict=True) == []
    assert unknown_body_keys(ack, CATALOG) == []


def test_findings_are_bounded_and_quote_what_they_show():
    value = with_body(known_limits=[{"x": "\u202e" * 500}] * 64, **{f"x{n}": 1 for n in range(200)})
    findings = check(value)
    assert len(findings) == 2 * MAX_FINDINGS
    assert all(len(finding.message) < 1_000 and finding.message.isprintable() for finding in findings)


def test_pointers_are_those_of_the_keyed_form_in_every_encoding():
    slots = [None, SMALLEST["profile"], *[None] * 6, ["L9", *[None] * 17]]
    assert [finding.pointer for finding in check(slots)] == ["/body", "/body/client_level"]


def test_what_only_the_accepting_validator_refuses_has_a_finding_too():
    # `$` also matches before a last line feed in Python's `re`, and not in the other one.
    (finding,) = SchemaCheck("any", {"pattern": "^a$"}).check("a\n")
    assert (finding.code, finding.message) == ("schema_violation", "'a\\n' is not in the form that it needs")


def test_words_come_from_the_accepting_validator_where_the_other_finds_nothing():
    fast = jsonschema_rs.Draft202012Validator({"type": "string", "minLength": 3}, offline=True)
    (error,) = fast.iter_errors("a")
    finding = Violation.from_jsonschema_rs(error).as_finding(schema="any", under="/body")
    assert (finding.code, finding.pointer, finding.message) == (
        "schema_violation",
        "/body",
        "the text is shorter than 3 characters",
    )
    assert finding.remedy == "follow the schema any"


def test_a_keyword_without_words_of_its_own_is_named():
    (finding,) = SchemaCheck("any", {"multipleOf": 2}).check(3)
    assert finding.message == "'3' breaks the rule 'multipleOf'"


def test_a_schema_that_points_elsewhere_is_not_followed():
    with pytest.raises(ValueError, match=r"offline|[Rr]etriev|[Rr]esol|[Rr]esource"):
        SchemaCheck("any", {"$ref": "http://127.0.0.1:9/schema.json"})
