"""Holds the texts in `policies/` to their form, and the schema to the names that Python fills in.

What the policies decide is tested by the cases in `tests/conformance/policies/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import cedarpy
import pytest

from negotiator.model.actions import (
    AGENT_ACTIONS,
    HUMAN_ONLY_ACTION,
    MEMORY_ACTIONS,
    READ_ACTIONS,
    WRITE_LIKE_ACTIONS,
)
from negotiator.model.facts import FACTS
from negotiator.model.findings import DECLARATION_FINDING_CODES
from negotiator.model.levels import Level
from negotiator.model.obligations import obligation_kind
from tests.support.shipped_policies import (
    POLICY_DIR,
    ShippedPolicy,
    action_parents,
    agent_attributes,
    request_attributes,
    schema,
    shipped,
)

POLICY_FILES = sorted(POLICY_DIR.glob("*.cedar"))
POLICIES = sorted(shipped().values(), key=lambda policy: policy.id)
FORBIDS = [policy for policy in POLICIES if policy.effect == "forbid"]
ABOUT_DECLARATIONS = frozenset({"declare", "advise"})
PEOPLES_ACTIONS = frozenset(
    {
        "approve_consent",
        "review_memory",
        "promote_memory",
        "settle_effect",
        "manage_policy",
        "manage_agents",
        "manage_users",
    }
)
ANNOTATIONS = frozenset({"id", "title", "requires", "remedy", "finding", "pointer", "fallback", "public"})

by_file = pytest.mark.parametrize("path", POLICY_FILES, ids=lambda path: path.stem)
by_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.id)
by_forbid = pytest.mark.parametrize("policy", FORBIDS, ids=lambda policy: policy.id)


def _noted(policies: Iterable[ShippedPolicy], name: str) -> set[str]:
    return {policy.annotations[name] for policy in policies if name in policy.annotations}


class TestFiles:
    def test_the_concerns_are_the_published_ones(self) -> None:
        published = {"ladder", "declaration", "consent", "idempotency", "correlation", "evidence", "memory"}
        assert {path.stem for path in POLICY_FILES} == published | {"packages", "people"}

    @by_file
    def test_a_file_passes_strict_validation(self, path: Path) -> None:
        result = cedarpy.validate_policies(path.read_text("utf-8"), schema())
        assert [str(problem) for problem in result.errors] == []
        assert result.validation_passed

    @by_file
    def test_a_file_is_formatted_as_cedar_formats_it(self, path: Path) -> None:
        text = path.read_text("utf-8")
        assert cedarpy.format_policies(text) == text

    @by_file
    def test_a_file_says_first_what_it_is_about(self, path: Path) -> None:
        first = path.read_text("utf-8").splitlines()[0]
        assert first.startswith(f"// {path.stem.capitalize()}: ")

    def test_the_readme_lists_every_file(self) -> None:
        readme = (POLICY_DIR / "README.md").read_text("utf-8")
        assert [path.name for path in POLICY_FILES if f"`{path.name}`" not in readme] == []

    def test_the_readme_explains_every_annotation(self) -> None:
        readme = (POLICY_DIR / "README.md").read_text("utf-8")
        assert [name for name in sorted(ANNOTATIONS) if f"`@{name}" not in readme] == []


class TestAnnotations:
    @by_policy
    def test_an_id_is_its_file_and_some_words(self, policy: ShippedPolicy) -> None:
        assert re.fullmatch(rf"{policy.file}\.[a-z0-9]+(-[a-z0-9]+)*", policy.id)

    @by_policy
    def test_only_known_annotations_are_used_and_none_is_empty(self, policy: ShippedPolicy) -> None:
        assert policy.annotations.keys() <= ANNOTATIONS
        assert all(policy.annotations.values())

    @by_policy
    def test_titles_remedies_and_fallbacks_are_short_plain_sentences(self, policy: ShippedPolicy) -> None:
        assert "title" in policy.annotations
        for name in ("title", "remedy", "fallback"):
            text = policy.annotations.get(name, "a")
            assert len(text) <= 120
            assert re.match(r"[a-z]|L[0-6]\b", text)
            assert not text.endswith(".")

    @by_policy
    def test_a_permit_asks_for_nothing(self, policy: ShippedPolicy) -> None:
        assert policy.effect == "forbid" or policy.annotations.keys() == {"id", "title"}

    @by_policy
    def test_a_policy_names_its_actions(self, policy: ShippedPolicy) -> None:
        """So that the slice of an action holds what can matter to it, and no more."""
        assert policy.actions <= action_parents().keys()

    @by_forbid
    def test_a_refusal_says_what_to_do(self, policy: ShippedPolicy) -> None:
        assert policy.annotations.keys() & {"remedy", "fallback"}

    @by_forbid
    def test_what_can_be_met_is_a_registered_obligation_with_a_remedy(self, policy: ShippedPolicy) -> None:
        if "requires" in policy.annotations:
            assert obligation_kind(policy.annotations["requires"])
            assert "remedy" in policy.annotations

    @by_forbid
    def test_a_finding_has_a_place_and_a_remedy_and_belongs_to_declarations(self, policy: ShippedPolicy) -> None:
        if "finding" in policy.annotations:
            assert policy.actions <= ABOUT_DECLARATIONS
            assert re.fullmatch(r"(/[a-z_]+){1,2}", policy.annotations["pointer"])
            assert "remedy" in policy.annotations
            assert "requires" not in policy.annotations
        else:
            assert "pointer" not in policy.annotations

    @by_forbid
    def test_whatever_advise_refuses_is_a_finding(self, policy: ShippedPolicy) -> None:
        assert "advise" not in policy.actions or "finding" in policy.annotations

    @by_forbid
    def test_a_stranger_may_see_the_rules_about_declarations_and_levels(self, policy: ShippedPolicy) -> None:
        if policy.actions <= ABOUT_DECLARATIONS or policy.file == "ladder":
            assert policy.annotations.get("public") == "true"
        if policy.actions <= PEOPLES_ACTIONS:
            assert "public" not in policy.annotations

    def test_every_finding_code_comes_from_a_policy_and_no_other_is_named(self) -> None:
        assert _noted(POLICIES, "finding") == DECLARATION_FINDING_CODES

    def test_codes_that_refuse_come_from_declare(self) -> None:
        refusing = [policy for policy in FORBIDS if policy.actions == {"declare"}]
        assert _noted(refusing, "finding") == DECLARATION_FINDING_CODES

    def test_codes_that_only_warn_come_from_advise(self) -> None:
        warning = [policy for policy in FORBIDS if policy.actions == {"advise"}]
        assert _noted(warning, "finding") == {
            "consent_boundary_missing",
            "correlation_id_missing",
            "expires_at_missing",
            "idempotency_key_missing",
        }


class TestSchema:
    def test_groups_are_those_of_the_model(self) -> None:
        members = {
            group: {action for action, parents in action_parents().items() if group in parents}
            for group in ("read", "write_like", "memory")
        }
        assert members == {"read": READ_ACTIONS, "write_like": WRITE_LIKE_ACTIONS, "memory": MEMORY_ACTIONS}

    def test_actions_are_those_of_the_model_and_of_people(self) -> None:
        groups = {"read", "write_like", "memory"}
        others = {"declare", "advise", "import_package", "release_package", "export_package", "read_ledger"}
        known = {*AGENT_ACTIONS, HUMAN_ONLY_ACTION, *groups, *others, *PEOPLES_ACTIONS}
        assert action_parents().keys() == known

    def test_every_action_of_the_schema_is_decided_by_some_policy(self) -> None:
        named = frozenset().union(*(policy.actions for policy in POLICIES))
        groups = {"read", "write_like", "memory"}
        undecided = [a for a, parents in action_parents().items() if not ({a} | parents) & named]
        assert sorted(set(undecided) - groups) == []

    @pytest.mark.parametrize("on", ["Agent", "Request", "Resource", "Level"])
    def test_an_entity_has_exactly_the_facts_that_are_registered(self, on: str) -> None:
        registered = {fact.name for fact in FACTS if fact.on == on and not fact.name.startswith("tag ")}
        given = {"Request": {"requester", "for_action"}}.get(on, set())
        assert {name for name, _ in _attributes(on)} == registered | given

    @pytest.mark.parametrize("on", ["Agent", "Request", "Resource", "Level"])
    def test_a_fact_has_the_type_that_is_registered(self, on: str) -> None:
        types = dict(_attributes(on))
        for fact in FACTS:
            if fact.on == on and not fact.name.startswith("tag "):
                assert types[fact.name] == fact.cedar_type

    def test_python_fills_every_attribute_of_an_agent_and_of_a_request(self) -> None:
        agent = {name for name, _ in _attributes("Agent")} - {"operated_by"}
        request = {name for name, _ in _attributes("Request")} - {"requester", "for_action"}
        assert agent_attributes({}).keys() == agent
        assert request_attributes({}).keys() == request

    def test_only_what_may_be_unknown_is_optional(self) -> None:
        text = _schema_text()
        assert set(re.findall(r"(\w+)\?:", text)) == {"operated_by", "requester", "for_action"}

    def test_policies_name_only_levels_and_roles_that_exist(self) -> None:
        texts = "".join(path.read_text("utf-8") for path in POLICY_FILES)
        assert set(re.findall(r'Uaix::Level::"(\w+)"', texts)) == {level.name for level in Level}
        roles = {"approver", "reviewer", "operator", "auditor", "admin"}
        assert set(re.findall(r'Uaix::Role::"(\w+)"', texts)) == roles
        assert set(re.findall(r"\b(approver|reviewer|operator|auditor|admin)\b", _role_comment())) == roles

    def test_policies_read_only_tags_that_are_registered(self) -> None:
        texts = "".join(path.read_text("utf-8") for path in POLICY_FILES)
        tags = set(re.findall(r'(?:get|has)Tag\("([^"]+)"\)', texts))
        assert tags
        assert [tag for tag in sorted(tags) if not obligation_kind(tag)] == []


def _schema_text() -> str:
    """Return the schema without its comments."""
    return re.sub(r"//.*", "", (POLICY_DIR / "schema.cedarschema").read_text("utf-8"))


def _attributes(kind: str) -> list[tuple[str, str]]:
    body = re.search(rf"entity {kind}\b[^{{;]*\{{([^}}]*)\}}", _schema_text())
    assert body
    return re.findall(r"(\w+)\??: ([\w<>]+)", body[1])


def _role_comment() -> str:
    lines = (POLICY_DIR / "schema.cedarschema").read_text("utf-8").splitlines()
    return lines[lines.index("  entity Role;") - 1]
