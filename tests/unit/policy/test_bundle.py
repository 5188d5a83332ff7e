"""Loading: what is refused, what the refusal says, and the digest."""

from __future__ import annotations

import hashlib
import json

import pytest

from negotiator.errors import PolicyError
from negotiator.policy import bundle_digest, check_bundle, load_bundle
from tests.support.policy import RULES, SCHEMA, files

GOOD = '@id("a.good") @title("a rule") permit (principal, action, resource);'

REFUSED = [
    ("policy_unparsable", {"a.cedar": b"permit (principal"}, "a.cedar"),
    ("policy_unparsable", {"a.cedar": b"\xff\xfe"}, "byte 0"),
    ("policy_unparsable", {"a\nb.cedar": GOOD.encode()}, "control"),
    ("policy_id_missing", {"a.cedar": b"permit (principal, action, resource);"}, "number 1"),
    ("policy_id_missing", {"a.cedar": b'@id("") permit (principal, action, resource);'}, "a.cedar"),
    ("policy_id_missing", {"a.cedar": GOOD.encode() + b"@id forbid (principal, action, resource);"}, "number 2"),
    ("policy_id_duplicate", {"a.cedar": GOOD.encode(), "b.cedar": GOOD.encode()}, "a.cedar, b.cedar"),
    ("policy_id_duplicate", {"a.cedar": (GOOD + GOOD).encode()}, "2 times"),
    ("schema_invalid", {"s.cedarschema": b"entity"}, "s.cedarschema"),
    ("schema_invalid", {"s.cedarschema": b"entity A;"}, "read_static"),
    ("schema_invalid", {"other.cedarschema": SCHEMA.encode()}, "2"),
    (
        "schema_invalid",
        {"s.cedarschema": SCHEMA.replace("action write_memory in [memory]", "action write_memory").encode()},
        "write_memory is not in memory",
    ),
]


@pytest.mark.parametrize(("code", "changed", "told"), REFUSED)
def test_what_cannot_be_used_is_refused_with_its_place(code: str, changed: dict[str, bytes], told: str) -> None:
    with pytest.raises(PolicyError) as refused:
        load_bundle({"s.cedarschema": SCHEMA.encode(), **changed})
    assert refused.value.code == code
    assert told in refused.value.message


def test_a_bundle_without_schema_is_refused() -> None:
    with pytest.raises(PolicyError) as refused:
        load_bundle({"a.cedar": GOOD.encode()})
    assert refused.value.code == "schema_invalid"


def test_a_refusal_tells_every_fault_of_every_file() -> None:
    broken = {"a.cedar": b"permit (", "b.cedar": b"permit (principal, action, resource);", "c.cedar": b"\xff"}
    with pytest.raises(PolicyError) as refused:
        load_bundle({"s.cedarschema": SCHEMA.encode(), **broken})
    assert all(path in refused.value.message for path in broken)


def test_a_refusal_names_the_policy_and_not_its_number() -> None:
    wrong = '@id("b.wrong") @title("t") permit (principal is Uaix::Agent, action, resource) when { principal.age > 1 };'
    with pytest.raises(PolicyError) as refused:
        load_bundle(files(GOOD + wrong))
    assert "rules.cedar: b.wrong" in refused.value.message
    assert "policy1" not in refused.value.message


def test_policies_keep_their_order_annotations_and_file() -> None:
    bundle = load_bundle(files())
    assert list(bundle.policies)[:3] == ["read.allowed", "write.allowed", "write.level"]
    policy = bundle.policies["declare.javascript"]
    assert (policy.file, policy.effect, policy.note("pointer")) == (
        "rules.cedar",
        "forbid",
        "/body/can_execute_javascript",
    )
    assert policy.note("requires") == ""


def test_more_than_ten_policies_of_one_file_keep_their_numbers() -> None:
    rules = "".join(GOOD.replace("a.good", f"n.{number}") for number in range(12))
    assert list(load_bundle(files(rules)).policies) == [f"n.{number}" for number in range(12)]


def test_the_digest_is_over_paths_and_bytes_of_policies_and_schema() -> None:
    contents = files()
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()}
    text = json.dumps({"files": hashes, "format": 1}, sort_keys=True, separators=(",", ":"))
    expected = hashlib.sha256(text.encode()).hexdigest()
    assert load_bundle(contents).digest == bundle_digest(contents) == expected
    assert bundle_digest({**contents, "cases/a.yaml": b"x", "README.md": b"y"}) == expected
    assert bundle_digest({**contents, "more.cedar": b""}) != expected
    assert bundle_digest(files(RULES + " ")) != expected


def test_what_is_merely_unclear_loads_and_is_told() -> None:
    untitled = '@id("a") @requires("consent") forbid (principal, action, resource);'
    warnings = load_bundle(files(untitled)).warnings
    assert [finding.code for finding in warnings] == ["policy_unclear", "policy_unclear"]
    assert {finding.source for finding in warnings} == {"policy:a"}


def test_a_check_of_an_empty_folder_says_that_everything_is_denied() -> None:
    assert [finding.code for finding in check_bundle(files(""))] == ["policies_empty"]


def test_a_check_finds_obligations_without_end() -> None:
    order = [
        ("correlation", "has_correlation"),
        ("expiry", "has_expiry"),
        ("idempotency_key", "has_idempotency_key"),
        ("consent", "has_consent"),
        ("memory_proposal", "via_proposal"),
        *((f"evidence:{kind}", f'hasTag("evidence:{kind}")') for kind in ("provenance", "audit_log", "final_report")),
        ("evidence:ui_parity", 'hasTag("evidence:ui_parity")'),
    ]
    rules = ['@id("all") @title("t") permit (principal is Uaix::Agent, action in Uaix::Action::"read", resource);']
    for number, (obligation, fact) in enumerate(order):
        before = "".join(f"context.request.{earlier} && " for _, earlier in order[:number])
        rules.append(
            f'@id("r.{number}") @title("t") @remedy("r") @requires("{obligation}") '
            f'forbid (principal is Uaix::Agent, action == Uaix::Action::"read_json", resource) '
            f"when {{ {before}!context.request.{fact} }};"
        )
    [finding] = check_bundle(files("\n".join(rules)))
    assert finding.code == "obligation_rounds"
    assert finding.message.startswith("read_json")
    assert check_bundle(files("\n".join(rules[:-2]))) == []
