"""Law: the validator that accepts and the validator that words findings agree on every schema."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from negotiator.messages import SchemaCheck
from negotiator.shipped import load_examples
from tests.support.messages import CATALOG, keyed_messages, scalars

CHECKS = {name: SchemaCheck(name, schema) for name, schema in CATALOG.schemas.items()}
ODD = [None, "", " ", "a\n", "\n", "L1\n", "2099-12-31T00:00:00Z\n", "2099-02-30T00:00:00Z", "\x00", "\x7f", "\u0085"]
ODD += [
    "x" * 255,
    "x" * 256,
    "\U0001f600" * 255,
    "\U0001f600" * 256,
    "x" * 4001,
    "٣",
    "\uff11",
    "é",
    True,
    0,
    -1,
    1,
    2**53 - 1,
]
ODD += [0.5, 1.0, [], [[]], [None], ["a"] * 65, {}, {"a": None}, {"": 1}]
CORPUS = [
    example["message"]
    for kind in ("valid", "failing")
    for example in load_examples(kind).values()
    if "message" in example
]
ODD_LINES = ("a\n", "\n", "2099-12-31T00:00:00Z\n", "key\n")
VALID = load_examples("valid")
WHOLE = {
    "envelope": VALID["L6"]["message"],
    "capability": VALID["L6"]["message"]["body"],
    "negotiation": VALID["negotiation"]["message"]["body"],
    "error": VALID["error"]["message"]["body"],
    "task-status": VALID["task-status"]["message"]["body"],
    "final-report": VALID["final-report"]["message"]["body"],
    "entry": {
        "v": 1,
        "epoch": 1,
        "index": 0,
        "time": "2026-01-15T09:00:00.000000Z",
        "project": "default",
        "kind": "decision",
        "decision": "deny",
        "principal": {"masked": "c0ffee"},
        "facts": {"levels": [1, 2], "verified": True},
        "prev": "0" * 64,
    },
}


def both(name, instance):
    slow = Draft202012Validator(CATALOG.schemas[name]).is_valid(instance)
    return CHECKS[name].is_valid(instance), slow


@pytest.mark.parametrize("name", sorted(CATALOG.schemas))
def test_schemas_are_valid_schemas_and_fetch_nothing(name):
    schema = CATALOG.schemas[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:uaix-negotiator:schema:{name}"
    assert all(reference.startswith("#/$defs/") for reference in _members(schema, "$ref"))


@pytest.mark.parametrize("name", sorted(CATALOG.schemas))
def test_patterns_name_their_characters(name):
    for pattern in _members(CATALOG.schemas[name], "pattern"):
        assert not any(escape in pattern for escape in (r"\d", r"\w", r"\s", r"\b", ".*", ".+")), pattern


@pytest.mark.parametrize("name", sorted(CATALOG.schemas))
def test_both_accept_the_whole_document(name):
    assert both(name, WHOLE[name]) == (True, True)


@pytest.mark.parametrize("name", sorted(CATALOG.schemas))
@pytest.mark.parametrize("odd", ODD, ids=lambda value: repr(value)[:20])
def test_both_agree_on_odd_values_in_every_place(name, odd):
    for place in CATALOG.schemas[name]["properties"]:
        fast, slow = both(name, WHOLE[name] | {place: odd})
        assert fast == slow, place


@pytest.mark.parametrize("odd", ["a\n", "\n", "2099-12-31T00:00:00Z\n", "key\n", None, ""])
@pytest.mark.parametrize("place", ["expires_at", "idempotency_key", "fallback_directive", "task_ref", "other"])
def test_a_line_break_after_an_identifier_is_refused_by_both(place, odd):
    delivery = WHOLE["envelope"]["delivery"] | {place: odd}
    allowed = (place, odd) in {("fallback_directive", text) for text in ODD_LINES} or (
        place == "other" and odd is not None
    )
    assert both("envelope", WHOLE["envelope"] | {"delivery": delivery}) == (allowed, allowed)


@pytest.mark.parametrize("name", ["envelope", "capability"])
def test_both_agree_on_the_examples(name):
    for message in CORPUS:
        fast, slow = both(name, message)
        assert fast == slow


@settings(max_examples=80, deadline=None)
@given(keyed_messages, st.data())
def test_both_agree_on_messages_with_one_place_changed(keyed, data):
    changed = deepcopy(keyed)
    at, key = data.draw(st.sampled_from(list(_places(changed))))
    at[key] = data.draw(scalars | st.sampled_from(ODD))
    assert len(set(both("envelope", changed))) == 1
    assert len(set(both("capability", changed["body"]))) == 1


@settings(max_examples=80, deadline=None)
@given(keyed_messages, st.data())
def test_nothing_is_refused_without_a_finding(keyed, data):
    changed = deepcopy(keyed)
    at, key = data.draw(st.sampled_from(list(_places(changed))))
    at[key] = data.draw(st.sampled_from(ODD))
    for name, instance in (("envelope", changed), ("capability", changed["body"])):
        findings = CHECKS[name].check(instance)
        assert bool(findings) is not CHECKS[name].is_valid(instance)
        assert all(len(finding.message) < 1_000 and finding.message.isprintable() for finding in findings)


def _members(value, name):
    if isinstance(value, dict):
        if isinstance(value.get(name), str):
            yield value[name]
        for member in value.values():
            yield from _members(member, name)
    elif isinstance(value, list):
        for item in value:
            yield from _members(item, name)


def _places(value):
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in entries:
        yield value, key
        yield from _places(member)
