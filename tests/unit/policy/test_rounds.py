"""Everything missing at once, by asking again as if it were there."""

from __future__ import annotations

from typing import Any

import pytest

from negotiator.model.facts import AgentFacts
from negotiator.model.levels import Level
from negotiator.policy import Engine, settle
from tests.support.policy import MET, RULES, ask, engine, unchecked

STRANGER = AgentFacts(subject="anon:1", declared_level=3)

CASES: list[tuple[dict[str, Any], str, tuple[str, ...], tuple[str, ...]]] = [
    (MET, "allowed", (), ("write.allowed",)),
    ({}, "consent_required", ("consent", "idempotency_key"), ("write.consent", "write.key")),
    (
        {"principal": STRANGER, "level": Level.L2},
        "identity_required",
        ("identity", "consent", "idempotency_key"),
        ("write.consent", "write.identity", "write.key", "write.level"),
    ),
    ({"principal": AgentFacts(subject="anon:1", declared_level=2), "level": Level.L2}, "refused", (), ("write.level",)),
    ({"name": "shop"}, "refused", (), ("shop.closed",)),
    ({"action": "render_ui"}, "refused", (), ("no-permit",)),
    ({"action": "nothing"}, "policy_error", (), ("policy-error",)),
]


@pytest.mark.parametrize(("changes", "code", "obligations", "policies"), CASES)
def test_where_the_rounds_end(
    changes: dict[str, Any], code: str, obligations: tuple[str, ...], policies: tuple[str, ...]
) -> None:
    decision = settle(engine(), ask(**changes))
    assert (decision.code, decision.policies) == (code, policies)
    assert tuple(obligation.id for obligation in decision.obligations) == obligations
    assert decision.allowed is (code == "allowed")


def chained(*steps: tuple[str, str]) -> str:
    """Return rules where each obligation shows only once the earlier ones are met."""
    rules = ['@id("all") permit (principal, action, resource);']
    met = "true"
    for number, (obligation, missing) in enumerate(steps):
        rules.append(
            f'@id("r.{number}") @requires("{obligation}") '
            f'forbid (principal, action == Uaix::Action::"post", resource) when {{ {met} && ({missing}) }};'
        )
        met += f" && !({missing})"
    return "\n".join(rules)


RECORD = "evidence:consent_record"
STEPS = (
    ("declaration", "!context.request.profile_matches"),
    ("review", "context.request.reviews < 2"),
    ("evidence:provenance", '!context.request.hasTag("evidence:provenance")'),
    (
        RECORD,
        f'!(context.request.hasTag("{RECORD}") && context.request.getTag("{RECORD}") == "system")',
    ),
    ("unexpired", "context.request.is_expired"),
    ("correlation", "!context.request.has_correlation"),
    ("expiry", "!context.request.has_expiry"),
)


def test_obligations_that_show_one_after_the_other_are_listed_together() -> None:
    decision = settle(Engine(unchecked(chained(*STEPS))), ask(is_expired=True))
    assert [obligation.id for obligation in decision.obligations] == [obligation for obligation, _ in STEPS]
    assert decision.code == "declaration_required"
    assert len(decision.policies) == len(STEPS)


def test_rounds_end_at_their_bound() -> None:
    more = (*STEPS, ("consent", "!context.request.has_consent"))
    assert settle(Engine(unchecked(chained(*more))), ask(is_expired=True)).code == "refused"


def test_an_obligation_that_does_not_help_is_a_refusal() -> None:
    rules = """@id("all") permit (principal, action, resource);
        @id("never") @title("never") @requires("consent") forbid (principal, action, resource);"""
    decision = settle(Engine(unchecked(rules)), ask())
    assert (decision.code, decision.obligations, decision.policies, decision.reason) == (
        "refused",
        (),
        ("never",),
        "never",
    )


def test_an_error_in_a_later_round_is_the_answer() -> None:
    erring = """@id("erring") forbid (principal, action == Uaix::Action::"post", resource)
        when { context.request.has_consent && context.request.getTag("arg:x") == "1" };"""
    decision = settle(Engine(unchecked(RULES + erring)), ask())
    assert (decision.code, decision.policies, decision.obligations) == ("policy_error", ("erring",), ())


def test_rounds_change_nothing_but_what_they_assume() -> None:
    query = ask()
    before = repr(query)
    settle(engine(), query)
    assert repr(query) == before
