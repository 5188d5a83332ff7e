"""Law: whatever the bytes, a check has findings and no exception, and loading raises `PolicyError` alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from negotiator.errors import PolicyError
from negotiator.model.findings import Severity
from negotiator.policy import check_bundle, load_bundle
from tests.support.policy import RULES, SCHEMA, files

GOOD = '@id("a") @title("a rule") permit (principal, action, resource);'

LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def spoilt(draw: st.DrawFn, text: str) -> bytes:
    """Return a text with some of its bytes cut out and others put in."""
    data = text.encode()
    start = draw(st.integers(0, len(data)))
    stop = draw(st.integers(start, min(len(data), start + 200)))
    return data[:start] + draw(st.binary(max_size=20)) + data[stop:]


@LAW
@given(st.binary(max_size=400) | spoilt(RULES), st.binary(max_size=400) | spoilt(SCHEMA) | st.just(SCHEMA.encode()))
def test_any_bytes_give_findings_or_a_bundle(rules: bytes, schema: bytes) -> None:
    given_files = {"rules.cedar": rules, "schema.cedarschema": schema}
    faults = [finding for finding in check_bundle(given_files) if finding.severity is Severity.ERROR]
    if not faults:
        assert load_bundle(given_files).digest
        return
    with pytest.raises(PolicyError) as refused:
        load_bundle(given_files)
    assert refused.value.code == faults[0].code
    assert all("\n" not in finding.message for finding in faults)


def test_a_schema_that_lacks_a_fact_neither_checks_nor_loads() -> None:
    """Found by the law above: the self-test is the first to miss it."""
    lacking = re.sub(r"can_fetch_static: Bool,\s*", "", SCHEMA)
    assert lacking != SCHEMA
    given_files = files(GOOD, schema=lacking)
    assert check_bundle(given_files)[0].code == "self_test_failed"
    with pytest.raises(PolicyError) as refused:
        load_bundle(given_files)
    assert refused.value.code == "self_test_failed"


@LAW
@given(st.text(max_size=20))
def test_any_path_gives_findings_or_a_bundle(name: str) -> None:
    given_files = {**files(GOOD), f"{name}.cedar": b"// nothing"}
    codes = {finding.code for finding in check_bundle(given_files)}
    assert codes <= {"policy_unparsable"}
    assert bool(codes) is not name.isprintable()
