"""One round of deciding: effects, codes, reasons, obligations, and what is remembered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from negotiator.model.levels import Level
from negotiator.policy import decide
from tests.support.policy import MET, ask, engine, loaded

CASES: list[tuple[dict[str, Any], str, str, tuple[str, ...], tuple[str, ...]]] = [
    ({"action": "read_json"}, "allow", "allowed", ("read.allowed",), ()),
    (MET, "allow", "allowed", ("write.allowed",), ()),
    ({}, "deny", "consent_required", ("write.consent", "write.key"), ("consent", "idempotency_key")),
    ({"has_consent": True}, "deny", "idempotency_key_missing", ("write.key",), ("idempotency_key",)),
    (
        {"verified": False},
        "deny",
        "identity_required",
        ("write.consent", "write.identity", "write.key"),
        ("identity", "consent", "idempotency_key"),
    ),
    (
        {"action": "publish", "has_idempotency_key": True},
        "deny",
        "consent_required",
        ("write.consent", "write.consent-published"),
        ("consent",),
    ),
    ({**MET, "level": Level.L6}, "deny", "evidence_required", ("audited.provenance",), ("evidence:provenance",)),
    ({**MET, "level": Level.L6, "tags": {"evidence:provenance": "self"}}, "allow", "allowed", ("write.allowed",), ()),
    ({"level": Level.L2}, "deny", "refused", ("write.consent", "write.key", "write.level"), ()),
    ({**MET, "name": "shop"}, "deny", "refused", ("shop.closed",), ()),
    ({"action": "render_ui"}, "deny", "refused", ("no-permit",), ()),
    ({"action": "write_memory"}, "deny", "memory_proposal_required", ("memory.proposal",), ("memory_proposal",)),
]


@pytest.mark.parametrize(("changes", "effect", "code", "policies", "obligations"), CASES)
def test_one_round(
    changes: dict[str, Any], effect: str, code: str, policies: tuple[str, ...], obligations: tuple[str, ...]
) -> None:
    decider = engine()
    for _ in range(2):
        decision = decider.decide(ask(**changes))
        assert (decision.decision, decision.code, decision.policies) == (effect, code, policies)
        assert tuple(obligation.id for obligation in decision.obligations) == obligations
        assert decision.bundle_digest == decider.bundle.digest
        assert decision.errors == ()


def test_a_refusal_gives_the_title_that_nothing_can_satisfy_and_the_fallback() -> None:
    decision = engine().decide(ask(level=Level.L2))
    assert (decision.reason, decision.fallback) == ("writing starts at level L3", "read the page instead")


def test_several_policies_of_one_obligation_are_one_obligation_with_every_remedy() -> None:
    [consent] = engine().decide(ask(action="publish", has_idempotency_key=True)).obligations
    assert consent.policies == ("write.consent", "write.consent-published")
    assert consent.remedy == "open the access request; ask for consent to publish"
    assert consent.title == "a human's consent"


def test_a_batch_answers_in_the_order_of_its_questions() -> None:
    asked = [ask(), ask(action="read_json"), ask(**MET), ask(action="nothing"), ask()]
    decider = engine()
    batch = decider.decide_all(asked)
    assert batch == [engine().decide(query) for query in asked]
    assert decider.decide_all([]) == []
    assert decider.decide_all(asked) == batch


def test_the_memory_of_answers_is_bounded() -> None:
    decider = engine(cache_size=3)
    for level in Level:
        for met in ({}, MET):
            decider.decide(ask(level=level, **met))
    kept = sum(len(one.rest.answers) for one in decider._slices._families.values())
    assert kept == len(decider._remembered) == 3


def test_a_remembered_answer_is_the_same_object_and_no_subject_is_in_its_key() -> None:
    decider = engine()
    first = decider.decide(ask(subject="agent:1"))
    assert decider.decide(ask(subject="agent:2", route="/elsewhere", reviews=3)) is first


def test_an_engine_that_remembers_nothing_asks_again() -> None:
    decider = engine(cache_size=0)
    decider.decide(ask())
    assert not decider._remembered


def test_threads_share_an_engine() -> None:
    decider = engine(cache_size=4)
    asked = [ask(level=level, **met) for level in Level for met in ({}, MET)]
    expected = [engine().decide(query) for query in asked]
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(lambda _: [decider.decide(query) for query in asked], range(16)):
            assert answers == expected


def test_projects_are_told_apart() -> None:
    rules = (
        '@id("all") @title("t") permit (principal, action, resource);'
        '@id("theirs") @title("t") forbid (principal, action, resource in Uaix::Project::"theirs");'
        '@id("agents") @title("t") forbid (principal in Uaix::Project::"agents", action, resource);'
    )
    assert engine(rules).decide(ask()).allowed
    assert engine(rules, project="theirs").decide(ask()).policies == ("theirs",)
    assert engine(rules, project="agents").decide(ask()).policies == ("agents",)


def test_decide_takes_an_engine_or_a_bundle() -> None:
    assert decide(loaded(), ask()) == decide(engine(), ask())


def test_which_actions_apply_to_what() -> None:
    decider = engine()
    assert decider.applies("call_tool", "Tool")
    assert decider.applies("write_memory", "MemoryRecord")
    assert not decider.applies("call_tool", "Resource")
    assert not decider.applies("promote_memory", "MemoryRecord")
    assert not decider.applies("write_like", "Resource")
