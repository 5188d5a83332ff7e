"""Runs the cases beside this file against the shipped policies, and asks that they exercise every one of them.

A case file is a list of groups. A group is `about`, `given` (a whole question) and `cases`; a case is `case`, `but`
(what differs from `given`; null takes a fact away), and what must come out: `decision`, `policies`, `requires`,
`findings` (both empty where left out).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from negotiator.model.levels import LOWEST_LEVEL_OF_ABILITY, Level
from tests.support.shipped_policies import Question, ask, question, shipped

CASE_FILES = sorted(Path(__file__).parent.glob("*.yaml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with the answer that it must get."""

    name: str
    question: Question
    decision: str
    policies: list[str]
    requires: list[str]
    findings: list[str]


def _cases() -> Iterator[Case]:
    for path in CASE_FILES:
        for group in yaml.safe_load(path.read_text("utf-8")):
            yield from (_case(f"{path.stem}: {group['about']}", group["given"], row) for row in group["cases"])


def _case(about: str, given: Mapping[str, Any], row: Mapping[str, Any]) -> Case:
    unknown = row.keys() - {"case", "but", "decision", "policies", "requires", "findings"}
    assert not unknown, f"{about}: {row['case']} has unknown members {unknown}"
    asked = _merged(given, row.get("but", {}))
    return Case(
        name=f"{about}: {row['case']}",
        question=question(asked["action"], asked["principal"], asked.get("request"), asked.get("resource")),
        decision=row["decision"],
        policies=row["policies"],
        requires=row.get("requires", []),
        findings=row.get("findings", []),
    )


def _merged(given: Mapping[str, Any], but: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(given)
    for key, value in but.items():
        if value is None:
            merged.pop(key)
        else:
            merged[key] = _merged(merged.get(key, {}), value) if isinstance(value, Mapping) else value
    return merged


CASES = list(_cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_gets_its_answer(case: Case) -> None:
    [answer] = ask([case.question])
    assert answer.errors == ()
    assert (answer.decision, list(answer.policies)) == (case.decision, sorted(case.policies))
    assert answer.noted("requires") == sorted(case.requires)
    assert answer.noted("finding") == sorted(case.findings)


def test_names_of_cases_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_policy_file_has_a_case_file() -> None:
    assert {path.stem for path in CASE_FILES} == {policy.file for policy in shipped().values()}


def test_every_policy_fires_in_a_case_and_stays_silent_in_another_on_the_same_action() -> None:
    fired: dict[str, set[str]] = defaultdict(set)
    silent: dict[str, set[str]] = defaultdict(set)
    for case in CASES:
        for name in shipped():
            (fired if name in case.policies else silent)[name].add(case.question.action)
    assert sorted(shipped().keys() - fired.keys()) == []
    assert [name for name, actions in sorted(fired.items()) if not actions & silent[name]] == []


def test_every_ability_is_refused_below_its_lowest_level_and_nowhere_else() -> None:
    """The published table (CAP-23) against the policies, each ability at each level."""
    claims = [(ability, level) for ability in LOWEST_LEVEL_OF_ABILITY for level in Level]
    answers = ask(_claim(ability, level) for ability, level in claims)
    refused = {claim for claim, answer in zip(claims, answers, strict=True) if answer.decision == "deny"}
    assert refused == {(ability, level) for ability, level in claims if level < LOWEST_LEVEL_OF_ABILITY[ability]}
    for (ability, _), answer in zip(claims, answers, strict=True):
        assert answer.noted("pointer") in ([], [f"/body/{ability}"])


def _claim(ability: str, level: Level) -> Question:
    principal = {"verified": True, "max_level": 6, "declared_level": int(level), ability: True}
    sound = dict.fromkeys(
        (
            "profile_matches",
            "consent_boundary",
            "proposal_profile_declared",
            "has_correlation",
            "has_expiry",
            "has_provenance",
            "has_integrity",
        ),
        True,
    )
    kinds = {"provenance", "audit_log", "validator_output", "consent_record", "memory_review", "final_report"}
    request = {**sound, "declared_evidence": kinds}
    return question("declare", principal, request, {"type": "Level", "id": level.name})
