"""The effective level, and what is wrong with a declaration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.findings import Severity
from negotiator.model.levels import Level
from negotiator.policy import Engine, admit, level_of
from tests.support.policy import RULES, engine, unchecked

POSTED = RequestFacts(has_correlation=True)
KNOWN = AgentFacts(subject="agent:1", kind="api_token", verified=True, max_level=4)


@pytest.mark.parametrize(
    ("declared", "principal", "given"),
    [
        (0, KNOWN, Level.L0),
        (3, KNOWN, Level.L3),
        (6, KNOWN, Level.L4),
        (6, AgentFacts(subject="anon:1"), Level.L2),
        (2, AgentFacts(subject="anon:1"), Level.L2),
        (3, AgentFacts(subject="anon:1", max_level=6), Level.L2),
        (3, AgentFacts(subject="anon:1", max_level=0), Level.L0),
    ],
)
def test_the_level_is_the_first_that_is_allowed_downwards(declared: int, principal: AgentFacts, given: Level) -> None:
    decider = engine()
    principal = replace(principal, declared_level=declared)
    admission = admit(decider, principal, POSTED, {})
    assert admission.effective == given == level_of(decider, principal, POSTED)
    assert admission.decision.allowed
    assert [finding.code for finding in admission.findings] == (["level_capped"] if given < declared else [])


def test_a_cap_says_why_and_what_would_lift_it() -> None:
    admission = admit(engine(), AgentFacts(subject="anon:1", declared_level=3), POSTED, {})
    [capped] = admission.findings
    assert (capped.severity, capped.pointer) == (Severity.INFO, "/body/client_level")
    assert "L3" in capped.message
    assert "an unidentified client is at most L2" in capped.message
    assert capped.remedy == "present an agent credential; ask the operator"
    [identity] = admission.obligations
    assert (identity.id, identity.policies) == ("identity", ("cap.anonymous",))


def test_a_finding_at_the_declared_level_refuses_and_wins_over_caps() -> None:
    principal = AgentFacts(subject="anon:1", declared_level=5)
    posted = replace(POSTED, has_unsafe_credential=True)
    admission = admit(engine(), principal, posted, {"has_unsafe_credential": "/body/known_limits/0"})
    assert (admission.effective, admission.obligations) == (None, ())
    [finding] = admission.findings
    assert (finding.code, finding.severity) == ("unsafe_credential", Severity.ERROR)
    assert finding.pointer == "/body/known_limits/0"
    assert finding.source == "policy:declare.credential"
    assert admission.decision.code == "refused"


def test_a_finding_that_only_lower_levels_would_make_does_not_stand_in_their_way() -> None:
    principal = AgentFacts(subject="anon:1", declared_level=6, max_level=1, can_execute_javascript=True)
    below = RULES.replace("principal.declared_level < 2 &&", "resource.number < 2 &&")
    assert admit(engine(below), principal, POSTED, {}).effective == Level.L1


def test_the_pointer_of_the_policy_counts_where_the_scan_has_none() -> None:
    principal = AgentFacts(subject="anon:1", declared_level=1, can_execute_javascript=True)
    [finding] = admit(engine(), principal, POSTED, {"has_unsafe_credential": "/elsewhere"}).findings
    assert finding.pointer == "/body/can_execute_javascript"
    assert finding.message == "L0 and L1 do not run JavaScript"
    assert finding.remedy == "declare L2 or leave it out"


@pytest.mark.parametrize("unsafe", [False, True])
def test_advice_is_a_warning_whatever_became_of_the_declaration(unsafe: bool) -> None:
    principal = AgentFacts(subject="anon:1", declared_level=1)
    admission = admit(engine(), principal, RequestFacts(has_unsafe_credential=unsafe), {})
    assert (admission.effective is None) is unsafe
    advice = admission.findings[-1]
    assert (advice.code, advice.severity) == ("correlation_id_missing", Severity.WARNING)


def test_no_level_at_all_is_a_refusal() -> None:
    rules = RULES.replace('@id("declare.allowed")', '@id("none.allowed")').replace(
        'action == Uaix::Action::"declare", resource);\n\n@id("declare.javascript")',
        'action == Uaix::Action::"declare", resource) when { false };\n\n@id("declare.javascript")',
    )
    admission = admit(engine(rules), replace(KNOWN, declared_level=3), POSTED, {})
    assert (admission.effective, admission.findings) == (None, ())
    assert admission.decision.policies == ("no-permit",)


@pytest.mark.parametrize("guard", ["resource.number == 3", "resource.number == 2"])
def test_an_error_on_the_way_ends_the_search(guard: str) -> None:
    erring = f"""@id("erring") forbid (principal, action == Uaix::Action::"declare", resource)
        when {{ {guard} && context.request.getTag("arg:x") == "1" }};"""
    admission = admit(Engine(unchecked(RULES + erring)), AgentFacts(subject="anon:1", declared_level=3), POSTED, {})
    assert admission.effective is None
    assert admission.decision.code == "policy_error"


def test_an_erring_finding_is_an_error_at_the_declared_level_and_absent_below() -> None:
    erring = """@id("erring") @finding("unsafe_credential")
        forbid (principal, action == Uaix::Action::"declare", resource)
        when { resource.number == LEVEL && context.request.getTag("arg:x") == "1" };"""
    anonymous = AgentFacts(subject="anon:1", declared_level=3)
    at = admit(Engine(unchecked(RULES + erring.replace("LEVEL", "3"))), anonymous, POSTED, {})
    assert (at.effective, at.findings, at.decision.code) == (None, (), "policy_error")
    below = admit(Engine(unchecked(RULES + erring.replace("LEVEL", "2"))), anonymous, POSTED, {})
    assert below.effective == Level.L2
