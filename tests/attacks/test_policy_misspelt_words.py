"""Attack by mistake: a word that Cedar lets pass and that makes a forbid never match, or an obligation never met."""

from __future__ import annotations

import pytest

from negotiator.errors import PolicyError
from negotiator.policy import load_bundle
from tests.support.policy import files

SCOPE = "(principal is Uaix::Agent, action, resource)"
DECLARE = '(principal is Uaix::Agent, action == Uaix::Action::"declare", resource)'

MISSPELT = {
    "level": f'forbid {SCOPE} when {{ principal in Uaix::Level::"L9" }};',
    "level in scope": 'forbid (principal in Uaix::Level::"l3", action, resource);',
    "level in set": f'forbid {SCOPE} when {{ principal in [Uaix::Level::"L1", Uaix::Level::"L7"] }};',
    "role": 'forbid (principal in Uaix::Role::"aprover", action == Uaix::Action::"approve_consent", resource);',
    "identity kind": f'forbid {SCOPE} when {{ principal.kind == "api-token" }};',
    "identity kind, reversed": f'forbid {SCOPE} when {{ "Anonymous" != principal.kind }};',
    "identity kind in set": f'forbid {SCOPE} when {{ ["oauth", "mTLS"].contains(principal.kind) }};',
    "evidence kind": f'forbid {SCOPE} unless {{ context.request.declared_evidence.contains("provenence") }};',
    "evidence kinds": f'forbid {SCOPE} unless {{ context.request.declared_evidence.containsAll(["audit_logs"]) }};',
    "tag": f'forbid {SCOPE} unless {{ context.request.hasTag("evidence:provenence") }};',
    "tag prefix": f'forbid {SCOPE} unless {{ context.request.hasTag("args:amount") }};',
    "computed tag": f"forbid {SCOPE} unless {{ context.request.hasTag(principal.subject) }};",
    "request entity": f'forbid {SCOPE} when {{ context.request == Uaix::Request::"0" }};',
    "overflow": f"forbid {SCOPE} when {{ principal.max_level + 9223372036854775807 > 0 }};",
    "overflow by product": f"forbid {SCOPE} when {{ 3 * principal.max_level * principal.max_level > 1 }};",
    "overflow by sign": f"forbid {SCOPE} when {{ 0 - -9223372036854775808 > principal.max_level }};",
    "obligation": f'@requires("concent") forbid {SCOPE};',
    "obligation without value": f"@requires forbid {SCOPE};",
    "obligation on a permit": f'@requires("consent") permit {SCOPE};',
    "finding": f'@finding("unsafe_credentials") forbid {DECLARE};',
    "finding on a permit": f'@finding("unsafe_credential") permit {DECLARE};',
    "finding elsewhere": f'@finding("unsafe_credential") forbid {SCOPE};',
    "pointer": f'@finding("unsafe_credential") @pointer("body") forbid {DECLARE};',
    "annotation": f'@requries("consent") forbid {SCOPE};',
    "public": f'@public("yes") forbid {SCOPE};',
    "empty actions": "forbid (principal, action in [], resource);",
    "action": 'forbid (principal, action == Uaix::Action::"pots", resource);',
    "attribute": f"forbid {SCOPE} when {{ principal.verifed }};",
    "type": f'forbid {SCOPE} when {{ principal.max_level == "3" }};',
    "template": "permit (principal == ?principal, action, resource);",
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_word_keeps_the_bundle_from_loading(name: str) -> None:
    with pytest.raises(PolicyError) as refused:
        load_bundle(files(f'@id("spelt.wrong") @title("a rule") @remedy("a way") {MISSPELT[name]}'))
    assert refused.value.code == "policy_invalid"
    assert "rules.cedar" in refused.value.message


@pytest.mark.parametrize(
    "policy_id",
    ["no-permit", "human-only", "policy-error", "undeclared-pass", "a b", "a\\nb", "ünlaut", "a" * 129, "-a"],
)
def test_ids_that_could_be_read_as_something_else_are_refused(policy_id: str) -> None:
    with pytest.raises(PolicyError) as refused:
        load_bundle(files(f'@id("{policy_id}") @title("a rule") permit {SCOPE};'))
    assert refused.value.code == "policy_invalid"


WELL_SPELT = (
    f'forbid {SCOPE} when {{ principal in Uaix::Level::"L6" }};',
    f'forbid {SCOPE} when {{ principal.kind == "api_token" }};',
    f'forbid {SCOPE} unless {{ context.request.hasTag("arg:amount") && context.request.getTag("arg:amount") == "1" }};',
    f"forbid {SCOPE} when {{ principal.max_level * 2 + 1 > context.request.reviews - 3 }};",
    f'@requires("evidence:provenance") forbid {SCOPE};',
    f'@finding("unsafe_credential") @pointer("/body/a~1b") forbid {DECLARE};',
    f'@source("CAP-14") @public("true") @fallback("read") forbid {SCOPE};',
)


@pytest.mark.parametrize("rule", WELL_SPELT)
def test_a_well_spelt_rule_loads_without_a_word(rule: str) -> None:
    bundle = load_bundle(files(f'@id("spelt.well") @title("a rule") @remedy("a way") {rule}'))
    assert (list(bundle.policies), bundle.warnings) == (["spelt.well"], ())
