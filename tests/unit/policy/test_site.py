"""What the policies say of the site itself."""

from __future__ import annotations

import pytest

from negotiator.policy import Engine
from tests.support.policy import RULES, loaded, unchecked

PERMIT = '@id("site.settles") @title("may settle") permit (principal is Uaix::Site, action == A, resource);'
FORBID = '@id("site.not") @title("may not") forbid (principal is Uaix::Site, action == A, resource);'
BY_PROJECT = """@id("site.project") @title("this project") forbid (principal, action == A, resource)
unless { resource == Uaix::Project::"default" };"""
ACTION = 'Uaix::Action::"settle_effect"'


@pytest.mark.parametrize(
    ("policies", "allowed", "reasons"),
    [
        ("", False, ("no-permit",)),
        (PERMIT, True, ("site.settles",)),
        (PERMIT + FORBID, False, ("site.not",)),
        (PERMIT + BY_PROJECT, True, ("site.settles",)),
    ],
)
def test_the_site_may_what_a_policy_permits(policies, allowed, reasons):
    decision = Engine(loaded(RULES + policies.replace("A,", f"{ACTION},"))).decide_for_site("settle_effect")
    assert (decision.allowed, decision.policies) == (allowed, reasons)


def test_an_action_that_is_not_the_sites_is_denied():
    policies = PERMIT.replace("A,", f"{ACTION},")
    engine = Engine(loaded(RULES + policies))
    for action in ("post", "manage_users", "nothing"):
        assert not engine.decide_for_site(action).allowed


def test_an_error_denies():
    broken = """@id("site.broken") @title("x") forbid (principal is Uaix::Site, action, resource)
    when { context.nothing };"""
    engine = Engine(unchecked(RULES + PERMIT.replace("A,", f"{ACTION},") + broken))
    decision = engine.decide_for_site("settle_effect")
    assert (decision.allowed, decision.code) == (False, "policy_error")
