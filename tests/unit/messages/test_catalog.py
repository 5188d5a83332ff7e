"""The shipped catalog holds together, says the published facts, and a broken one is refused."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from negotiator import shipped
from negotiator.errors import ConfigError, RequestError
from negotiator.messages import REFUSALS, Catalog, finding_of
from negotiator.messages.aliases import alias_in_body, alias_in_envelope
from negotiator.model.levels import ABILITIES, CAPABILITY_PROFILES, PROFILE_OF_LEVEL, Level
from negotiator.model.obligations import EVIDENCE_KINDS
from negotiator.shipped import load_catalog, load_examples, shipped_folder
from tests.support.messages import CATALOG

ENVELOPE = (
    "uai_version profile message_id source target conversation delivery trust body provenance integrity extensions"
)
BODY = (
    "client_level client_name can_fetch_static can_fetch_json can_execute_javascript can_use_browser_ui can_post_data"
    " can_authenticate can_call_tools can_run_long_tasks can_store_memory can_coordinate_agents"
    " requires_human_consent_for declared_or_required_uaix_profiles fallback_behavior known_limits"
    " evidence_requirements safe_default_response"
)
PROFILES = {
    *CAPABILITY_PROFILES,
    "uai.capability.negotiation.v1",
    "uai.agent.memory-proposal.v1",
    "uai.agent.ack.v1",
    "uai.agent.handoff.v1",
    "uai.agent.blocker.v1",
    "uai.agent.final-report.v1",
    "uai.task.status.v1",
    "uai.error.v1",
    "uai.conformance.result.v1",
}


def test_the_published_orders_are_kept():
    assert CATALOG.envelope.fields == tuple(ENVELOPE.split())
    assert CATALOG.envelope.min_slots == 9
    for profile in CAPABILITY_PROFILES:
        order = CATALOG.profiles[profile].order
        assert (order.fields, order.min_slots) == (tuple(BODY.split()), 18)


def test_all_published_profiles_are_known():
    assert set(CATALOG.profiles) == PROFILES
    assert all(profile.document["id"] == name for name, profile in CATALOG.profiles.items())


def test_the_ladder_tells_every_level():
    levels = CATALOG.ladder["levels"]
    assert [(rung["level"], rung["profile"]) for rung in levels] == [
        (lv.name, of) for lv, of in PROFILE_OF_LEVEL.items()
    ]
    for rung in levels:
        assert rung["may"]
        assert rung["must_not_imply"]
        assert rung["fallback"]
        assert set(rung["evidence"]) <= set(EVIDENCE_KINDS)
    assert levels[Level.L6]["evidence"] == list(EVIDENCE_KINDS[:6])


def test_registry_entries_divide_their_fields():
    for entry in CATALOG.registry["orders"].values():
        assert set(entry["required"]) | set(entry["nullable"]) == set(entry["ordered_fields"])
        assert not set(entry["required"]) & set(entry["nullable"])


def test_every_level_and_both_general_profiles_have_an_example():
    assert set(CATALOG.examples) >= {*CAPABILITY_PROFILES, "uai.capability.negotiation.v1", "uai.error.v1"}
    assert all(message["profile"] == profile for profile, message in CATALOG.examples.items())
    assert set(ABILITIES) <= set(CATALOG.examples[PROFILE_OF_LEVEL[Level.L6]]["body"])


def documents():
    schemas = {name: json.loads((shipped_folder("schemas") / f"{name}.json").read_text()) for name in CATALOG.schemas}
    return {
        "schemas": schemas,
        "registry": deepcopy(CATALOG.registry),
        "profiles": {name: dict(profile.document) for name, profile in CATALOG.profiles.items()},
        "ladder": json.loads((shipped_folder("profiles") / "ladder.json").read_text()),
        "examples": load_examples("valid"),
    }


BREAKAGES = {
    "a level is gone": lambda docs: docs["ladder"]["levels"].pop(),
    "two levels changed places": lambda docs: docs["ladder"]["levels"].reverse(),
    "a profile is gone": lambda docs: docs["profiles"].pop("uai.client.tool-agent.v1"),
    "a general profile is gone": lambda docs: docs["profiles"].pop("uai.capability.profile.v1"),
    "a schema is gone": lambda docs: docs["schemas"].pop("error"),
    "an order is gone": lambda docs: docs["registry"]["orders"].pop("envelope"),
    "an order differs from its schema": lambda docs: docs["registry"]["orders"]["capability"][
        "ordered_fields"
    ].reverse(),
    "an example is gone": lambda docs: docs["examples"].pop("L3"),
    "a level has no words": lambda docs: docs["profiles"]["uai.client.tool-agent.v1"].pop("may"),
    "a body has another schema": lambda docs: docs["profiles"]["uai.client.tool-agent.v1"].update(body="error"),
}


def test_whole_documents_make_the_catalog():
    assert Catalog.from_documents(**documents()) == CATALOG


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_catalog_is_refused(breakage):
    docs = documents()
    BREAKAGES[breakage](docs)
    with pytest.raises(ConfigError) as refusal:
        Catalog.from_documents(**docs)
    assert refusal.value.code == "catalog_invalid"


def test_shipped_data_come_from_the_package_first(tmp_path, monkeypatch):
    package = tmp_path / "negotiator"
    monkeypatch.setattr(shipped, "_PACKAGE", package)
    with pytest.raises(ConfigError) as refusal:
        shipped_folder("schemas")
    assert refusal.value.code == "shipped_data_missing"
    (tmp_path / "schemas").mkdir()
    assert shipped_folder("schemas") == tmp_path / "schemas"
    (package / "_data" / "schemas").mkdir(parents=True)
    assert shipped_folder("schemas") == package / "_data" / "schemas"


def test_shipped_data_that_are_no_objects_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "_PACKAGE", tmp_path / "negotiator")
    folder = tmp_path / "profiles" / "examples" / "valid"
    folder.mkdir(parents=True)
    (folder / "L0.json").write_text("[]")
    with pytest.raises(ConfigError) as refusal:
        load_examples("valid")
    assert refusal.value.code == "shipped_data_missing"


def test_the_catalog_is_loaded_once():
    assert load_catalog() is load_catalog()


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("v", "uai_version"),
        ("prof", "profile"),
        ("messageId", "message_id"),
        ("msg-id", "message_id"),
        ("id", "message_id"),
        ("BODY", "body"),
        ("src", "source"),
        ("surprise", None),
        ("note", None),
        ("payload", None),
        ("_", None),
        ("", None),
    ],
)
def test_aliases_in_the_envelope(key, field):
    assert alias_in_envelope(key, CATALOG.envelope.fields) == field


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("cl", "client_level"),
        ("ClientName", "client_name"),
        ("can-post-data", "can_post_data"),
        ("client", None),
        ("can_fly", None),
        ("limits", None),
        ("", None),
    ],
)
def test_aliases_in_a_body(key, field):
    assert alias_in_body(key, BODY.split()) == field


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_can_be_shown_as_a_finding(code):
    finding = finding_of(RequestError("something is wrong", code=code, pointer="/x"))
    assert (finding.code, finding.severity, finding.pointer, finding.source) == (code, "error", "/x", "codec")
    assert finding.remedy == REFUSALS[code]
