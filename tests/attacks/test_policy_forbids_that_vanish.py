"""Attack: make a forbid not count. It errs, its group is unknown, its name is spelt another way, its number too big."""

from __future__ import annotations

import pytest

from negotiator.errors import PolicyError
from negotiator.model.decisions import Query
from negotiator.model.levels import Level
from negotiator.policy import Engine
from negotiator.policy.entities import Ground
from tests.support.policy import MET, ask, engine, loaded, unchecked

PERMIT_ALL = '@id("all") permit (principal, action, resource);'


def test_a_forbid_that_errs_denies_although_a_permit_matches() -> None:
    erring = '@id("erring") forbid (principal, action, resource) when { context.request.getTag("arg:amount") == "1" };'
    decision = Engine(unchecked(PERMIT_ALL + erring)).decide(ask())
    assert (decision.decision, decision.code, decision.policies) == ("deny", "policy_error", ("erring",))
    assert "getTag" in decision.errors[0] or "tag" in decision.errors[0]


def test_an_erring_answer_is_not_remembered() -> None:
    erring = (
        '@id("erring") forbid (principal, action, resource) when { principal.max_level + 9223372036854775807 > 0 };'
    )
    decider = Engine(unchecked(PERMIT_ALL + erring))
    assert decider.decide(ask()).code == "policy_error"
    assert not decider._remembered


def test_entities_without_the_schema_are_noticed_before_anything_is_decided() -> None:
    bundle = loaded()
    assert Engine(bundle).decide(ask()).decision == "deny"
    with pytest.raises(PolicyError) as refused:
        Engine(bundle, ground=Ground(None, project="default"))
    assert refused.value.code == "self_test_failed"
    assert "group" in refused.value.message


@pytest.mark.parametrize(
    "name", ['"', "'", "\\", 'a"b', "\0", "\n", "\u200b", "\u202e", "shop\u200b", "", "a" * 10_000]
)
def test_odd_names_are_matched_as_they_are(name: str) -> None:
    decider = engine()
    assert decider.decide(ask(name=name)).policies == ("write.consent", "write.key")
    assert decider.decide(ask(name=name, **MET)).allowed
    assert decider.decide(ask(subject=name, verified=False, **MET)).policies == ("write.identity",)


@pytest.mark.parametrize(
    "query",
    [
        ask(name="\ud800", **MET),
        ask(subject="\udfff", **MET),
        ask(reviews=2**63, **MET),
        ask(reviews=2**70, **MET),
        ask(reviews=1.5, **MET),
        ask(max_level=None, **MET),
        ask(verified="yes", **MET),
        ask(tags={"arg:amount": 1}, **MET),
        ask(operated_by=7, **MET),
    ],
    ids=lambda query: repr(query)[-60:],
)
def test_facts_that_cedar_does_not_take_deny(query: Query) -> None:
    decision = engine().decide(query)
    assert (decision.decision, decision.code) == ("deny", "policy_error")
    assert decision.errors


def test_facts_that_cedar_does_not_take_leave_their_neighbours_alone() -> None:
    sound, broken = ask(**MET), ask(verified="yes", **MET)
    first, second, third = engine().decide_all([sound, broken, ask()])
    assert first.allowed
    assert second.code == "policy_error"
    assert third.policies == ("write.consent", "write.key")


def test_one_agent_with_two_sets_of_facts_is_two_agents_in_one_batch() -> None:
    known, unknown = ask(**MET), ask(verified=False, **MET)
    decisions = engine().decide_all([known, unknown, ask(level=Level.L2, **MET)])
    assert [decision.policies for decision in decisions] == [("write.allowed",), ("write.identity",), ("write.level",)]


@pytest.mark.parametrize("action", ["promote_memory", "approve_consent", "write_like", "no_such_action", "POST", ""])
def test_actions_that_agents_cannot_ask_deny(action: str) -> None:
    decision = engine(PERMIT_ALL).decide(ask(action=action))
    assert (decision.decision, decision.code, decision.policies) == ("deny", "policy_error", ("policy-error",))


def test_an_action_upon_the_wrong_type_denies() -> None:
    decider = engine(PERMIT_ALL)
    assert decider.decide(ask()).allowed
    assert decider.decide(ask(type="Tool")).code == "policy_error"


@pytest.mark.parametrize("rules", ["", "// only a comment\n"])
def test_no_policies_deny_everything_and_say_so(rules: str) -> None:
    bundle = loaded(rules)
    assert bundle.empty
    decision = Engine(bundle).decide(ask(action="read_static"))
    assert (decision.decision, decision.code, decision.policies) == ("deny", "refused", ("no-permit",))
