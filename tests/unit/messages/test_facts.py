from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from negotiator.errors import RequestError
from negotiator.messages.facts import declaration_of
from negotiator.model.facts import DeclaredFacts
from negotiator.model.levels import ABILITIES, PROFILE_OF_LEVEL, Level
from negotiator.model.messages import Message

NOW = datetime(2026, 1, 15, 12, 0, 0, tzinfo=UTC)
SIX = ["provenance", "audit_log", "validator_output", "consent_record", "memory_review", "final_report"]
BODY = {
    "client_level": "L1",
    "client_name": "Catalogue Reader",
    "can_fetch_json": True,
    "fallback_behavior": "Read the static page.",
    "safe_default_response": "Name the route and stop.",
}


def declared(body=None, /, profile="uai.client.structured-fetch.v1", **envelope):
    keyed = {"profile": profile, "body": BODY | (body or {}), **envelope}
    return declaration_of(Message(profile=profile, keyed=keyed, encoding="keyed", digest="0" * 64), now=NOW)


def test_the_smallest_declaration_has_only_the_facts_that_it_states():
    declaration = declared()
    assert declaration.level is Level.L1
    assert declaration.client_name == "Catalogue Reader"
    assert declaration.fallback == "Read the static page."
    assert declaration.safe_default == "Name the route and stop."
    assert declaration.facts == DeclaredFacts(profile_matches=True, fallback_named=True)
    assert dict(declaration.abilities) == {ability: ability == "can_fetch_json" for ability in ABILITIES}
    assert (declaration.has_idempotency_key, declaration.has_correlation) == (False, False)
    assert (declaration.has_expiry, declaration.is_expired) == (False, False)
    assert (dict(declaration.pointers), declaration.notes) == ({}, ())


@pytest.mark.parametrize("value", [False, None, "true", 1, "yes", [True]])
def test_only_the_literal_true_is_an_ability(value):
    assert declared({"can_post_data": value}).abilities["can_post_data"] is False


def test_an_unknown_level_is_refused():
    with pytest.raises(RequestError) as caught:
        declared({"client_level": "L9"})
    assert caught.value.code == "unknown_level"


@pytest.mark.parametrize("level", Level)
def test_a_profile_matches_its_own_level_only(level):
    for other, profile in PROFILE_OF_LEVEL.items():
        assert declared({"client_level": level.name}, profile=profile).facts.profile_matches is (level is other)
    assert declared({"client_level": level.name}, profile="uai.capability.profile.v1").facts.profile_matches


FACT_CASES = [
    # body, envelope, fact, value
    ({"declared_or_required_uaix_profiles": ["uai.agent.memory-proposal.v1"]}, {}, "proposal_profile_declared", True),
    ({"declared_or_required_uaix_profiles": ["uai.agent.handoff.v1"]}, {}, "proposal_profile_declared", False),
    ({"declared_or_required_uaix_profiles": "uai.agent.memory-proposal.v1"}, {}, "proposal_profile_declared", False),
    ({"can_fly": True}, {}, "unknown_ability", True),
    ({"can_fly": "no"}, {}, "unknown_ability", True),
    ({"Can_Post_Data": True}, {}, "unknown_ability", True),
    ({"can_fly": False}, {}, "unknown_ability", False),
    ({"cannot_fly": True}, {}, "unknown_ability", False),
    ({"requires_human_consent_for": ["memory"]}, {}, "consent_boundary", True),
    ({"requires_human_consent_for": ["memory"]}, {}, "consents_memory", True),
    ({"requires_human_consent_for": ["memory"]}, {}, "consents_write", False),
    ({"requires_human_consent_for": ["public_publishing"]}, {}, "consents_public_publishing", True),
    ({"requires_human_consent_for": ["everything", "Write", " write"]}, {}, "consent_boundary", False),
    ({"requires_human_consent_for": []}, {}, "consent_boundary", False),
    ({"evidence_requirements": ["ui_parity", "vibes"]}, {}, "declared_evidence", frozenset({"ui_parity"})),
    ({"evidence_requirements": SIX}, {}, "evidence_declared", True),
    ({"evidence_requirements": [*SIX, "ui_parity"]}, {}, "evidence_declared", True),
    ({"evidence_requirements": SIX[:-1]}, {}, "evidence_declared", False),
    ({}, {"provenance": {"issued": "2026-01-15T00:00:00Z"}}, "has_provenance", True),
    ({}, {"provenance": {}}, "has_provenance", False),
    ({}, {"provenance": {"issued": " ", "log": [], "by": {"who": None}}}, "has_provenance", False),
    ({}, {"integrity": {"checksum": "00ff"}}, "has_integrity", True),
    ({}, {"integrity": {}}, "has_integrity", False),
    ({}, {"trust": {"assurance": "high"}}, "high_trust", True),
    ({}, {"trust": {"channel": {"trust_level": "High-Assurance"}}}, "high_trust", True),
    ({}, {"trust": {"high_trust": True}}, "high_trust", True),
    ({}, {"trust": {"assurance": "low"}}, "high_trust", False),
    ({}, {"trust": {"high_trust": False, "note": "high"}}, "high_trust", False),
    ({}, {"trust": {}}, "high_trust", False),
    ({}, {"delivery": {"timeout_ms": 500}}, "has_timeout", True),
    ({}, {"delivery": {"timeout_ms": 0}}, "has_timeout", False),
    ({}, {"delivery": {"timeout_ms": True}}, "has_timeout", False),
    ({}, {"delivery": {"timeout_ms": "500"}}, "has_timeout", False),
    ({"fallback_behavior": "Stop."}, {}, "fallback_named", False),
    ({"fallback_behavior": "No static or JSON fallback."}, {}, "fallback_named", False),
    ({"fallback_behavior": "Usa el JSON."}, {}, "fallback_named", True),
    ({"known_limits": ["Roll back by DELETE."]}, {}, "rollback_named", True),
    ({}, {"delivery": {"fallback_directive": "revert the order"}}, "rollback_named", True),
    ({"known_limits": ["No rollback."]}, {}, "rollback_named", False),
    ({"fallback_behavior": "The content is only available with JavaScript."}, {}, "js_only", True),
    ({"fallback_behavior": "Stop.", "known_limits": ["Requires JavaScript."]}, {}, "js_only", True),
    ({"known_limits": ["Requires JavaScript."]}, {}, "js_only", False),  # the fallback names the static page
    ({"fallback_behavior": "Use JSON before requiring JavaScript."}, {}, "js_only", False),
    ({"client_name": "UAIX-certified reader"}, {}, "claims_certification", True),
    ({"client_name": "Not certified by UAIX"}, {}, "claims_certification", False),
    ({"known_limits": ["UAIX executes the tasks."]}, {}, "claims_runtime", True),
    ({"known_limits": ["UAIX does not execute tasks."]}, {}, "claims_runtime", False),
    ({}, {"extensions": {"x": {"note": ["Carcinus is part of UAIX."]}}}, "boundary_unclear", True),
    ({}, {"extensions": {"x": {"note": ["Carcinus is not part of UAIX."]}}}, "boundary_unclear", False),
    ({}, {"extensions": {"uaix_certified": True}}, "claims_certification", True),
    ({}, {"extensions": {"uaix_certified": False}}, "claims_certification", False),
    ({}, {"extensions": {"uaixCertified": "yes"}}, "claims_certification", True),
    ({}, {"provenance": {"log": "password=hunter2"}}, "has_unsafe_credential", True),
    ({}, {"extensions": {"password": "hunter2"}}, "has_unsafe_credential", True),
    ({}, {"extensions": {"AKIA" + "IOSFODNN7EXAMPLE": 1}}, "has_unsafe_credential", True),
    ({}, {"extensions": {"key": {"kty": "OKP", "d": "nWGxne"}}}, "has_unsafe_credential", True),
    ({"known_limits": ["AKIA" + "IOSF", "ODNN7EXAMPLE"]}, {}, "has_unsafe_credential", True),
    ({"known_limits": ["Never send an API key."]}, {}, "has_unsafe_credential", False),
    ({}, {"integrity": {"checksum": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
     "has_unsafe_credential", False),
    ({}, {"delivery": {"idempotency_key": "0190b7a2-7a55-7c3e-9b1f-2f4e5d6c7b8a"}}, "has_unsafe_credential", False),
]  # fmt: skip


@pytest.mark.parametrize(("body", "envelope", "fact", "value"), FACT_CASES)
def test_fact(body, envelope, fact, value):
    assert getattr(declared(body, **envelope).facts, fact) == value


def test_every_fact_has_a_case_in_which_it_is_not_zero():
    shown = {fact for _, _, fact, value in FACT_CASES if value}
    rest = {"profile_matches", "consents_write", "consents_authorization", "consents_coordination"}
    assert shown | rest == set(asdict(DeclaredFacts()))


@pytest.mark.parametrize("word", ["write", "authorization", "memory", "public_publishing", "coordination"])
def test_each_consent_word_is_its_own_fact(word):
    facts = asdict(declared({"requires_human_consent_for": [word]}).facts)
    assert [name for name, value in facts.items() if value and name.startswith("consents_")] == [f"consents_{word}"]


def test_an_unknown_consent_word_is_a_warning_that_does_not_repeat_it():
    (note,) = declared({"requires_human_consent_for": ["write", "teleport"]}).notes
    assert (note.code, note.severity, note.pointer) == (
        "unknown_consent_word", "warning", "/body/requires_human_consent_for/1",
    )  # fmt: skip
    assert "teleport" not in repr(note)


@pytest.mark.parametrize(
    ("expires_at", "has_expiry", "is_expired"),
    [
        ("2026-01-15T12:00:01Z", True, False),
        ("2026-01-15T12:00:00.250Z", True, False),
        ("2026-01-15T12:00:00Z", True, True),
        ("2026-01-15T11:59:59.999999999Z", True, True),
        ("2026-01-15T13:00:00+00:00", False, False),
        ("2026-01-15T13:00:00", False, False),
        ("2026-01-15 13:00:00Z", False, False),
        ("2026-02-30T00:00:00Z", False, False),
        ("2026-01-15T24:61:00Z", False, False),
        ("٢٠٢٦-01-15T13:00:00Z", False, False),
        ("2026-01-15T13:00:00Z\n", False, False),
        ("soon", False, False),
        ("", False, False),
        (1_768_478_400, False, False),
    ],
)
def test_expiry_is_utc_with_z_or_nothing(expires_at, has_expiry, is_expired):
    declaration = declared(delivery={"expires_at": expires_at})
    assert (declaration.has_expiry, declaration.is_expired) == (has_expiry, is_expired)
    fact = "is_expired" if is_expired else "has_expiry"
    assert dict(declaration.pointers) == ({} if has_expiry and not is_expired else {fact: "/delivery/expires_at"})


def test_delivery_facts():
    declaration = declared(delivery={"idempotency_key": "k-1"}, conversation={"correlation_id": "c-1"})
    assert (declaration.has_idempotency_key, declaration.has_correlation) == (True, True)
    blank = declared(delivery={"idempotency_key": " "}, conversation={"correlation_id": ""})
    assert (blank.has_idempotency_key, blank.has_correlation) == (False, False)


@pytest.mark.parametrize(
    ("body", "envelope", "fact", "pointer"),
    [
        ({"known_limits": ["fine", "password=hunter2"]}, {}, "has_unsafe_credential", "/body/known_limits/1"),
        ({}, {"extensions": {"a/b": {"c~d": "password=hunter2"}}}, "has_unsafe_credential", "/extensions/a~1b/c~0d"),
        ({}, {"extensions": {"password": "hunter2"}}, "has_unsafe_credential", "/extensions/password"),
        ({"known_limits": ["AKIA" + "IOSF", "ODNN7EXAMPLE"]}, {}, "has_unsafe_credential", "/body/known_limits"),
        ({"client_name": "UAIX-certified"}, {}, "claims_certification", "/body/client_name"),
        ({"safe_default_response": "UAIX executes it."}, {}, "claims_runtime", "/body/safe_default_response"),
        ({}, {"provenance": {"by": "UAIX runs Carcinus."}}, "boundary_unclear", "/provenance/by"),
        (
            {"fallback_behavior": "Needs JavaScript."},
            {},
            "js_only",
            "/body/fallback_behavior",
        ),
        ({"can_fly": True}, {}, "unknown_ability", "/body/can_fly"),
    ],
)
def test_a_pointer_leads_to_the_place(body, envelope, fact, pointer):
    assert declared(body, **envelope).pointers[fact] == pointer


def test_a_pointer_leads_to_the_first_place():
    declaration = declared({"known_limits": ["password=hunter2"], "evidence_requirements": ["password=hunter3"]})
    assert declaration.pointers["has_unsafe_credential"] == "/body/known_limits/0"


def test_a_signature_may_be_a_jws_and_nothing_else():
    jws = "eyJhbGciOiJFZERTQSJ9" + ".eyJzdWIiOiJhZ2VudC0xIn0.c2lnbmF0dXJlLWJ5dGVz"
    assert not declared(trust={"signature": jws}).facts.has_unsafe_credential
    assert declared(trust={"note": jws}).facts.has_unsafe_credential
    assert declared(trust={"signature": "password=hunter2"}).facts.has_unsafe_credential


@pytest.mark.parametrize("value", [None, 7, "text", [], ["x"], [{}], {"a": 1}])
@pytest.mark.parametrize("member", ["conversation", "delivery", "trust", "provenance", "integrity", "extensions"])
def test_members_of_any_shape_are_read(member, value):
    assert declared(**{member: value}).level is Level.L1


@pytest.mark.parametrize("value", [None, 7, "text", [None, 7, {}], {"a": [1]}])
@pytest.mark.parametrize("field", ["requires_human_consent_for", "known_limits", "fallback_behavior", "client_name"])
def test_fields_of_any_shape_are_read(field, value):
    facts = declared({field: value}).facts
    assert not facts.consent_boundary
    assert not facts.has_unsafe_credential


def test_deep_messages_are_read_without_recursion():
    deep: object = "password=hunter2"
    for _ in range(3_000):
        deep = [deep]
    assert declared(extensions={"deep": deep}).facts.has_unsafe_credential
