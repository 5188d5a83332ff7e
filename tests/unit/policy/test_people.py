"""What people may do, asked of the shipped policies over the live vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from negotiator.model.decisions import Query
from negotiator.model.facts import AgentFacts, HumanFacts, RequestFacts, ResourceFacts
from negotiator.model.people import ROLES
from negotiator.policy import Engine, load_bundle
from negotiator.shipped import shipped_folder
from negotiator.store import PolicyFolder
from tests.support.policy import engine as small_engine

PROJECT = ResourceFacts(type="Project", name="default")


@cache
def shipped() -> Engine:
    return Engine(load_bundle(PolicyFolder(shipped_folder("policies")).read()))


def human(*roles: str, assurance: int = 3) -> HumanFacts:
    return HumanFacts(person="ada", assurance=assurance, roles=frozenset(roles))


def question(who: HumanFacts | AgentFacts, action: str, resource: ResourceFacts = PROJECT) -> Query:
    return Query(principal=who, level=None, action=action, resource=resource, request=RequestFacts())


CASES = [
    ("manage_users", ("admin",), 3, True),
    ("manage_users", ("admin",), 2, False),
    ("manage_users", tuple(role for role in ROLES if role != "admin"), 4, False),
    ("manage_agents", ("operator",), 3, True),
    ("settle_effect", ("operator",), 3, True),
    ("settle_effect", ("admin",), 4, False),
    ("read_ledger", ("auditor",), 1, True),
    ("read_ledger", ("approver", "reviewer"), 4, False),
]


@pytest.mark.parametrize(("action", "roles", "assurance", "allowed"), CASES)
def test_roles_and_assurance_decide(action, roles, assurance, allowed):
    decision = shipped().decide(question(human(*roles, assurance=assurance), action))
    assert (decision.allowed, decision.errors) == (allowed, ())


@pytest.mark.parametrize(("protected", "assurance", "allowed"), [(False, 3, True), (True, 3, False), (True, 4, True)])
def test_a_protected_operation_takes_a_security_key(protected, assurance, allowed):
    resource = ResourceFacts(name="orders", protected=protected)
    decision = shipped().decide(question(human("approver", assurance=assurance), "approve_consent", resource))
    assert decision.allowed is allowed


def test_agents_may_not_do_what_people_do_and_the_other_way_round():
    agent = AgentFacts(subject="ada", verified=True, kind="api_token", max_level=6)
    for who, action, resource in (
        (agent, "manage_users", PROJECT),
        (agent, "approve_consent", ResourceFacts()),
        (human(*ROLES, assurance=4), "post", ResourceFacts()),
        (human(*ROLES, assurance=4), "declare", ResourceFacts()),
    ):
        decision = shipped().decide(question(who, action, resource))
        assert not decision.allowed
        assert "does not apply" in decision.errors[0]


def test_a_question_that_both_may_ask_is_answered_for_each():
    rules = """
    @id("people") @title("x") permit (principal is Uaix::Human, action == Uaix::Action::"read_ledger", resource);
    @id("agents") @title("x") forbid (principal is Uaix::Agent, action == Uaix::Action::"read_ledger", resource);
    @id("one") @title("x") forbid (principal == Uaix::Human::"eve", action, resource);
    """
    engine = small_engine(rules)
    asked: Iterator[tuple[HumanFacts | AgentFacts, bool]] = iter(
        [
            (human(), True),
            (AgentFacts(subject="ada"), False),
            (human(), True),
            (HumanFacts(person="eve", assurance=3), False),
            (human(), True),
        ]
    )
    for who, allowed in asked:
        assert engine.decide(question(who, "read_ledger")).allowed is allowed


def test_a_remembered_answer_is_of_the_same_roles_and_assurance():
    engine = shipped()
    for _ in range(2):
        assert engine.decide(question(human("admin"), "manage_users")).allowed
        assert not engine.decide(question(human("admin", assurance=1), "manage_users")).allowed
        assert not engine.decide(question(human("auditor"), "manage_users")).allowed


def test_a_name_with_quotes_is_only_a_name():
    who = HumanFacts(person='ada" || true //\x00\u200b', assurance=3, roles=frozenset({"admin"}))
    assert shipped().decide(question(who, "manage_users")).allowed
