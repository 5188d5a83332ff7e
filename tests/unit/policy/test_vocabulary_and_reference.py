"""The schema's actions, read from Cedar; the reference, held to the models and the schema."""

from __future__ import annotations

import re

import cedarpy
import pytest

from negotiator.model.actions import AGENT_ACTIONS, MEMORY_ACTIONS, READ_ACTIONS, WRITE_LIKE_ACTIONS
from negotiator.model.facts import FACTS
from negotiator.model.obligations import OBLIGATION_KINDS
from negotiator.policy import policy_reference
from negotiator.policy.vocabulary import read_vocabulary
from tests.support.policy import SCHEMA, loaded


def test_groups_are_those_of_the_models() -> None:
    vocabulary = loaded().vocabulary
    assert vocabulary.groups() == ["memory", "read", "write_like"]
    assert frozenset(vocabulary.members("read")) == READ_ACTIONS
    assert frozenset(vocabulary.members("write_like")) == WRITE_LIKE_ACTIONS
    assert frozenset(vocabulary.members("memory")) == MEMORY_ACTIONS


@pytest.mark.parametrize("action", AGENT_ACTIONS)
def test_agents_actions_apply_to_one_kind_of_resource_at_least(action: str) -> None:
    shape = loaded().vocabulary.actions[action]
    assert shape.principals == ("Agent",)
    assert shape.resources == {"call_tool": ("Tool",), "write_memory": ("Resource", "MemoryRecord")}.get(
        action, ("Resource",)
    )


def test_groups_of_groups_are_followed() -> None:
    schema = cedarpy.Schema.from_str("namespace Uaix { action top; action middle in [top]; action leaf in [middle]; }")
    vocabulary = read_vocabulary(schema)
    assert vocabulary.actions["leaf"].groups == {"middle", "top"}
    assert vocabulary.members("top") == ["leaf", "middle"]


def test_the_reference_lists_every_fact_action_obligation_and_policy_once() -> None:
    bundle = loaded()
    rows = [line for line in policy_reference(bundle).splitlines() if line.startswith("|")]
    for fact in FACTS:
        assert sum(row.startswith(f"| {fact.on} | `{fact.name}` |") for row in rows) == 1
    for name in (*bundle.vocabulary.actions, *(kind.id for kind in OBLIGATION_KINDS), *bundle.policies):
        assert sum(row.startswith(f"| `{name}` |") for row in rows) == 1
    for policy in bundle.policies.values():
        assert any(policy.title in row and f"`{policy.file}`" in row for row in rows)


def test_every_fact_of_the_reference_is_in_the_schema_with_its_type() -> None:
    for fact in FACTS:
        if not fact.name.startswith("tag "):
            assert re.search(rf"\b{fact.name}\??: {re.escape(fact.cedar_type)}[,\s}}]", SCHEMA), fact


def test_a_title_cannot_break_the_table() -> None:
    rule = '@id("a") @title("one | two") permit (principal, action, resource);'
    assert "one \\| two" in policy_reference(loaded(rule))
