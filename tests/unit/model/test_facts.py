"""Facts as an entry keeps them: small, and still the very facts that were decided on."""

from __future__ import annotations

from dataclasses import fields

import pytest

from negotiator.model.facts import ANONYMOUS, AgentFacts, DeclaredFacts, RequestFacts, ResourceFacts, nonzero


def again(written: dict) -> dict:
    return {name: frozenset(value) if isinstance(value, list) else value for name, value in written.items()}


@pytest.mark.parametrize(
    "facts",
    [
        ANONYMOUS,
        AgentFacts(subject="agent:1", kind="api_token", verified=True, max_level=0),
        AgentFacts(subject="agent:1", declared_level=6, can_call_tools=True, operated_by="ada"),
        ResourceFacts(),
        ResourceFacts(type="Tool", name="search", public=True),
        RequestFacts(),
        RequestFacts(method="POST", has_consent=True, reviews=2, declared_evidence=frozenset({"audit_log"})),
        RequestFacts(tags={"evidence:audit_log": "system"}),
    ],
)
def test_what_is_left_out_comes_back_by_itself(facts):
    assert type(facts)(**again(nonzero(facts))) == facts


def test_zeros_are_left_out_and_a_cap_of_zero_is_not():
    assert nonzero(RequestFacts()) == {}
    assert nonzero(AgentFacts(subject="agent:1", max_level=0)) == {
        "subject": "agent:1",
        "kind": "anonymous",
        "max_level": 0,
    }


def test_sets_are_written_sorted():
    facts = RequestFacts(declared_evidence=frozenset({"provenance", "audit_log"}))
    assert nonzero(facts) == {"declared_evidence": ["audit_log", "provenance"]}


def test_a_declaration_hands_on_its_own_facts_and_no_others():
    request = RequestFacts(consents_write=True, js_only=True, method="POST", has_consent=True)
    handed = request.declared()
    assert handed.keys() == {f.name for f in fields(DeclaredFacts)}
    assert RequestFacts(**handed) == RequestFacts(consents_write=True, js_only=True)
