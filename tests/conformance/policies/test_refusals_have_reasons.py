"""What must hold of the shipped policies whatever the facts are.

Laws:

1. No agent is refused without a reason, and no policy errs.
2. Nothing allowed is wider than the level and the declared abilities together (CAP-22).
3. What an unidentified caller is allowed changes nothing, and its level is at most L2.
4. Bringing what an obligation asks for never turns a yes into a no.
5. Obligations are the truth: where each forbid that fired can be met, meeting them all ends in a yes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negotiator.model.actions import AGENT_ACTIONS, MEMORY_ACTIONS, READ_ACTIONS, WRITE_LIKE_ACTIONS
from negotiator.model.facts import RequestFacts
from negotiator.model.levels import ABILITIES, Level
from negotiator.model.obligations import EVIDENCE_KINDS
from tests.support.shipped_policies import Answer, Question, action_parents, ask, question, shipped

LOWEST_LEVEL = {
    **dict.fromkeys(READ_ACTIONS, Level.L0),
    "render_ui": Level.L2,
    **dict.fromkeys(WRITE_LIKE_ACTIONS, Level.L3),
    "run_task": Level.L4,
    "write_memory": Level.L4,
    "coordinate_agents": Level.L5,
}
ABILITY = {
    "read_static": "can_fetch_static",
    "read_json": "can_fetch_json",
    "render_ui": "can_use_browser_ui",
    "post": "can_post_data",
    "publish": "can_post_data",
    "submit_form": "can_post_data",
    "authenticate": "can_authenticate",
    "call_tool": "can_call_tools",
    "run_task": "can_run_long_tasks",
    "write_memory": "can_store_memory",
    "coordinate_agents": "can_coordinate_agents",
}
"""Written down a second time on purpose: the policies are checked against these two tables."""

REQUEST_FLAGS = [f.name for f in fields(RequestFacts) if f.type == "bool"]

ORIGINS = st.sampled_from(["system", "attested", "self"])

LEVELS = (None, *(level.name for level in Level))

AGENTS = st.fixed_dictionaries(
    {
        "level": st.sampled_from(LEVELS),
        "verified": st.booleans(),
        "max_level": st.integers(0, 6),
        "declared_level": st.integers(0, 6),
        **dict.fromkeys(ABILITIES, st.booleans()),
    }
)
REQUESTS = st.fixed_dictionaries(
    {
        **dict.fromkeys(REQUEST_FLAGS, st.booleans()),
        "declared_evidence": st.frozensets(st.sampled_from(EVIDENCE_KINDS)),
        "tags": st.dictionaries(st.sampled_from([f"evidence:{kind}" for kind in EVIDENCE_KINDS]), ORIGINS),
    }
)

Facts = Mapping[str, Any]


def _agent_questions(agent: Facts, request: Facts) -> list[Question]:
    upon_record = question("write_memory", agent, request, {"type": "MemoryRecord", "anchor": True})
    return [*(question(action, agent, request) for action in AGENT_ACTIONS), upon_record]


def _level_questions(agent: Facts, request: Facts) -> list[Question]:
    unplaced = {**agent, "level": None}
    upon = [{"type": "Level", "id": level.name} for level in Level]
    return [question(action, unplaced, request, level) for action in ("declare", "advise") for level in upon]


def _other_questions(agent: Facts, request: Facts) -> list[Question]:
    packages = [action for action in action_parents() if action.endswith("_package")]
    on_package = [question(action, agent, request, {"type": "Package"}) for action in packages]
    return [*on_package, question("read_ledger", agent, request, {"type": "Project"})]


def _allowed(questions: list[Question]) -> list[Question]:
    return [q for q, answer in zip(questions, ask(questions), strict=True) if answer.decision == "allow"]


@given(AGENTS, REQUESTS)
@settings(max_examples=60, deadline=None)
def test_no_agent_is_refused_without_a_reason(agent: Facts, request: Facts) -> None:
    every = (_agent_questions, _level_questions, _other_questions)
    questions = [q for make in every for q in make(agent, request)]
    for answer in ask(questions):
        assert answer.errors == ()
        assert answer.policies != ()


@pytest.mark.parametrize("action", [*AGENT_ACTIONS, "advise"])
def test_each_agents_action_has_a_permit_without_conditions(action: str) -> None:
    """The proof of law 1 that needs no luck: where such a permit stands, only a forbid can refuse."""
    assert _unconditional_permits(action, lambda scope: scope["op"] == "All")


@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.name)
def test_declare_has_a_permit_without_conditions_on_each_level(level: Level) -> None:
    assert _unconditional_permits("declare", lambda scope: scope.get("entity", {}).get("id") == level.name)


def _unconditional_permits(action: str, upon: Callable[[Mapping[str, Any]], bool]) -> list[str]:
    covered = {action} | action_parents()[action]
    return [
        policy.id
        for policy in shipped().values()
        if policy.effect == "permit" and policy.actions & covered and not policy.body["conditions"]
        if policy.body["principal"] == {"op": "is", "entity_type": "Uaix::Agent"} and upon(policy.body["resource"])
    ]


@given(AGENTS, REQUESTS)
@settings(max_examples=60, deadline=None)
def test_nothing_is_wider_than_the_level_and_the_declaration_together(agent: Facts, request: Facts) -> None:
    for q in _allowed([_satisfied(q, MEANS) for q in _agent_questions(agent, request)]):
        assert Level.parse(agent["level"]) >= LOWEST_LEVEL[q.action]
        undeclared_reader = q.action in READ_ACTIONS and not request["profile_matches"]
        assert agent[ABILITY[q.action]] or undeclared_reader


@given(AGENTS, REQUESTS)
@settings(max_examples=60, deadline=None)
def test_no_level_is_above_what_was_declared_or_what_the_operator_allows(agent: Facts, request: Facts) -> None:
    for q in _allowed(_level_questions(agent, request)):
        if q.action == "declare":
            assert Level.parse(q.resource["id"]) <= min(agent["declared_level"], agent["max_level"])


@given(AGENTS, REQUESTS)
@settings(max_examples=60, deadline=None)
def test_an_unidentified_caller_changes_nothing_and_stays_below_l3(agent: Facts, request: Facts) -> None:
    stranger = {**agent, "verified": False}
    assert {q.action for q in _allowed(_agent_questions(stranger, request))} <= READ_ACTIONS | {"render_ui"}
    levels = [q.resource["id"] for q in _allowed(_level_questions(stranger, request)) if q.action == "declare"]
    assert set(levels) <= {"L0", "L1", "L2"}


@given(AGENTS, REQUESTS, st.data())
@settings(max_examples=60, deadline=None)
def test_bringing_what_is_asked_for_never_turns_a_yes_into_a_no(
    agent: Facts, request: Facts, data: st.DataObject
) -> None:
    brought = data.draw(st.lists(st.sampled_from(sorted(MEANS)), min_size=8, unique=True))
    allowed = _allowed([_satisfied(q, brought) for q in _agent_questions(agent, request)])
    met = [_satisfied(q, MEANS) for q in allowed]
    assert [answer.decision for answer in ask(met)] == ["allow"] * len(met)


@given(AGENTS, REQUESTS)
@settings(max_examples=60, deadline=None)
def test_meeting_every_obligation_ends_in_a_yes(agent: Facts, request: Facts) -> None:
    questions = _agent_questions(agent, request)
    answers = ask(questions)
    met = [_satisfied(q, a.noted("requires")) for q, a in zip(questions, answers, strict=True) if _all_meetable(a)]
    assert [answer.decision for answer in ask(met)] == ["allow"] * len(met)


def _all_meetable(answer: Answer) -> bool:
    return answer.decision == "deny" and all("requires" in shipped()[name].annotations for name in answer.policies)


def _with(q: Question, **facts: object) -> Question:
    return replace(q, request={**q.request, **facts})


def _tagged(q: Question, tag: str) -> Question:
    return _with(q, tags={**q.request["tags"], tag: "system"})


MEANS: Mapping[str, Callable[[Question], Question]] = {
    "identity": lambda q: replace(q, principal={**q.principal, "verified": True}),
    "consent": lambda q: _with(q, has_consent=True),
    "idempotency_key": lambda q: _with(q, has_idempotency_key=True),
    "correlation": lambda q: _with(q, has_correlation=True),
    "expiry": lambda q: _with(q, has_expiry=True),
    "unexpired": lambda q: _with(q, is_expired=False),
    "memory_proposal": lambda q: _with(q, via_proposal=True),
    **{f"evidence:{kind}": partial(_tagged, tag=f"evidence:{kind}") for kind in EVIDENCE_KINDS},
}


def _satisfied(q: Question, obligations: Iterable[str]) -> Question:
    for obligation in obligations:
        q = MEANS[obligation](q)
    return q


def test_the_tables_of_this_test_cover_every_action_of_agents() -> None:
    assert LOWEST_LEVEL.keys() == ABILITY.keys() == set(AGENT_ACTIONS)
    assert MEMORY_ACTIONS & LOWEST_LEVEL.keys() == {"write_memory"}
