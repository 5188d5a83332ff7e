"""Who may approve, asked of the shipped policies and of broken ones."""

from __future__ import annotations

import pytest

from negotiator.assembly import load_engine
from negotiator.model.approvers import Approver
from negotiator.model.facts import AgentFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.policy import Approving, Engine, load_bundle
from tests.support.interleaving import policies_with

AGENT = AgentFacts(subject="agent:1", kind="api_token", verified=True, max_level=3, operated_by="grace")


def asked(approving, *, resource=None, requester=AGENT, level=Level.L3, action="post", **person):
    values = {"person_id": "ada", "name": "Ada", "roles": frozenset({"approver"}), "assurance": 3, **person}
    return approving.decide(
        Approver(**values), resource or ResourceFacts(name="comments"), requester=requester, level=level, action=action
    )


@pytest.fixture(scope="module")
def shipped():
    return Approving(load_engine(None))


@pytest.mark.parametrize(
    ("changes", "policies"),
    [
        ({}, ["consent.approve"]),
        ({"resource": ResourceFacts(type="Tool", name="search"), "action": "call_tool"}, ["consent.approve"]),
        ({"level": None}, ["consent.approve"]),
        ({"assurance": 2}, ["consent.second-factor"]),
        ({"roles": frozenset({"admin", "operator"})}, ["consent.approver"]),
        ({"roles": frozenset()}, ["consent.approver"]),
        ({"person_id": "grace"}, ["consent.own-agent"]),
        ({"resource": ResourceFacts(name="x", protected=True)}, ["consent.security-key"]),
        ({"resource": ResourceFacts(name="x", protected=True), "assurance": 4}, ["consent.approve"]),
        (
            {"resource": ResourceFacts(name="x", two_person=True), "requester": AgentFacts(subject="agent:2")},
            ["consent.operator-known"],
        ),
    ],
)
def test_who_may(shipped, changes, policies):
    decision = asked(shipped, **changes)
    assert decision.errors == ()
    assert list(decision.policies) == policies
    assert decision.allowed == (policies == ["consent.approve"])
    assert asked(shipped, **changes) is decision, "it is remembered"


@pytest.mark.parametrize(
    "changes",
    [{"roles": frozenset({"emperor\x00"}), "person_id": "\ud800"}, {"assurance": 2**70}],
)
def test_facts_that_cedar_does_not_take_deny(shipped, changes):
    decision = asked(shipped, **changes)
    assert not decision.allowed
    assert decision.errors


def test_policies_may_speak_of_what_is_asked_and_by_whom():
    rule = (
        '@id("x") @title("x") forbid (principal, action == Uaix::Action::"approve_consent", resource) when {'
        ' context.request has for_action && context.request.for_action in Uaix::Action::"write_like" &&'
        ' context.request has requester && context.request.requester in Uaix::Level::"L4" };'
    )
    approving = Approving(Engine(load_bundle(policies_with(rule))))
    assert asked(approving).allowed
    assert asked(approving, level=Level.L4).policies == ("x",)
    assert asked(approving, level=Level.L4, action="run_task").allowed


def test_a_policy_on_anything_counts():
    approving = Approving(
        Engine(load_bundle(policies_with('@id("x") @title("x") forbid (principal, action, resource);')))
    )
    assert asked(approving).policies == ("x",)
