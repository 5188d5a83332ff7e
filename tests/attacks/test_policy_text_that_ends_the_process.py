"""Attack: policy text so deep that Cedar's parser overflows the stack, which no exception can catch."""

from __future__ import annotations

import pytest

from negotiator.model.findings import Severity
from negotiator.policy import check_bundle
from tests.support.policy import SCHEMA, files

DEEP = {
    "brackets": "(" * 20_000 + "true" + ")" * 20_000,
    "sets": "[" * 20_000 + "1" + "]" * 20_000 + " == 1",
    "and": "true && " * 20_000 + "true",
    "plus": "1 " + "+ 1" * 20_000 + " == 1",
    "attributes": "principal" + ".a" * 20_000,
    "if": "if true then true else " * 20_000 + "true",
    "clauses": "true } " + "when { true } " * 20_000 + "when { true",
    "unterminated": '"' + '\\"' * 200_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_policies_are_refused_before_cedar_sees_them(name: str) -> None:
    rule = f'@id("deep") @title("deep") permit (principal, action, resource) when {{ {DEEP[name]} }};'
    faults = [finding for finding in check_bundle(files(rule)) if finding.severity is Severity.ERROR]
    assert [finding.code for finding in faults] == ["policy_unparsable"]
    assert "rules.cedar" in faults[0].message


@pytest.mark.parametrize(
    "schema",
    [
        "entity A { a: " + "Set<" * 20_000 + "Long" + ">" * 20_000 + " };",
        ";".join(f"action a{n} in [a{n + 1}]" for n in range(20_000)),
        "/" * 2_000_000,
    ],
    ids=["sets", "actions", "bytes"],
)
def test_deep_and_large_schemas_are_refused(schema: str) -> None:
    findings = check_bundle(files("", schema=schema))
    assert {finding.code for finding in findings} == {"schema_invalid"}


def test_depth_is_counted_in_each_policy_by_itself() -> None:
    scope = "(principal is Uaix::Agent, action, resource)"
    rule = f'@id("r{{0}}") @title("t") permit {scope} when {{{{ principal.max_level < {{0}} && true }}}};'
    many = "\n".join(rule.format(number) for number in range(1, 300))
    assert check_bundle(files(many, schema=SCHEMA)) == []
