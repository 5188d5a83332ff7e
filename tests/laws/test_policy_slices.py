"""Law: a slice answers like the whole set, and a remembered answer like a fresh one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

import cedarpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from negotiator.model.actions import AGENT_ACTIONS
from negotiator.model.decisions import Query
from negotiator.model.facts import AgentFacts, HumanFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import ABILITIES, Level
from negotiator.policy import Bundle, Engine
from negotiator.policy.entities import Ground, Population
from negotiator.policy.policies import policy_set
from tests.support.policy import RULES, unchecked

LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

PRINCIPALS = (
    "principal",
    "principal is Uaix::Agent",
    "principal is Uaix::Human",
    'principal == Uaix::Agent::"agent:1"',
    'principal in Uaix::Level::"L3"',
    'principal is Uaix::Agent in Uaix::Level::"L2"',
    'principal in Uaix::Project::"default"',
    'principal in Uaix::Role::"admin"',
    'principal == Uaix::Human::"ada"',
)
ACTIONS = (
    "action",
    *(f'action == Uaix::Action::"{name}"' for name in ("post", "read_json", "call_tool", "read_ledger", "declare")),
    *(f'action in Uaix::Action::"{name}"' for name in ("read", "write_like", "memory", "post")),
    'action in [Uaix::Action::"read", Uaix::Action::"publish"]',
)
RESOURCES = (
    "resource",
    "resource is Uaix::Resource",
    "resource is Uaix::Tool",
    'resource == Uaix::Resource::"shop"',
    'resource in Uaix::Resource::"comments"',
    'resource == Uaix::Tool::"shop"',
    'resource is Uaix::Resource in Uaix::Project::"default"',
    'resource in Uaix::Project::"other"',
    'resource == Uaix::Project::"default"',
    'resource in Uaix::Level::"L3"',
    'resource == Uaix::Level::"L2"',
)
CONDITIONS = (
    "true",
    "principal.verified",
    "principal.max_level > 2",
    "principal.assurance > 2",
    'principal.person == "ada"',
    'principal in Uaix::Role::"admin"',
    '[Uaix::Role::"admin"].contains(Uaix::Role::"admin") && principal is Uaix::Human in Uaix::Role::"auditor"',
    'principal.operated_by == "person:1"',
    'principal has operated_by && principal.operated_by == "person:1"',
    'principal == Uaix::Agent::"agent:1"',
    'principal in [Uaix::Level::"L4", Uaix::Agent::"agent:2"]',
    "[principal] == [principal]",
    "{a: principal}.a.can_post_data",
    "(if context.request.strict then principal else principal).verified",
    'principal.subject like "agent:*"',
    'resource.name == "shop"',
    'resource == Uaix::Resource::"shop"',
    'Uaix::Resource::"shop" == resource',
    "resource is Uaix::Tool && resource.public",
    "resource.public",
    'resource in Uaix::Level::"L3"',
    "context.request.has_consent",
    "context.request.reviews > 1",
    'context.request.declared_evidence.contains("provenance")',
    'context.request.hasTag("arg:amount")',
    'context.request.getTag("arg:amount") == "1"',
    "context.request.hasTag(principal.kind)",
    "context == context",
    "context.request.requester.verified",
    "context.request has requester",
    "{a: context}.a.request.has_consent",
    "(if principal.verified then context.request else context.request).has_consent",
    "principal.max_level + 9223372036854775807 > 0",
)

rules = st.lists(
    st.tuples(
        *map(st.sampled_from, (("permit", "forbid"), PRINCIPALS, ACTIONS, RESOURCES, ("when", "unless"), CONDITIONS))
    ),
    max_size=12,
)
flags = st.booleans()
agents = st.builds(
    AgentFacts,
    subject=st.sampled_from(["agent:1", "agent:2", 'a"b']),
    kind=st.sampled_from(["anonymous", "api_token"]),
    verified=flags,
    max_level=st.integers(0, 6),
    declared_level=st.integers(0, 6),
    operated_by=st.sampled_from(["", "person:1"]),
    **dict.fromkeys(ABILITIES, flags),
)
humans = st.builds(
    HumanFacts,
    person=st.sampled_from(["ada", "eve"]),
    assurance=st.integers(1, 4),
    roles=st.frozensets(st.sampled_from(["admin", "auditor"])),
)
resources = st.builds(
    ResourceFacts,
    type=st.sampled_from(["Resource", "Tool", "MemoryRecord"]),
    name=st.sampled_from(["-", "shop", "comments"]),
    public=flags,
    protected=flags,
)
requests = st.builds(
    RequestFacts,
    reviews=st.integers(0, 3),
    declared_evidence=st.frozensets(st.sampled_from(["provenance", "audit_log"])),
    tags=st.dictionaries(
        st.sampled_from(["arg:amount", "evidence:provenance", "api_token"]), st.sampled_from(["1", "2"])
    ),
    **{f.name: flags for f in fields(RequestFacts) if f.type == "bool"},
)


@st.composite
def questions(draw: st.DrawFn) -> Query:
    principal, request = draw(agents), draw(requests)
    if draw(st.integers(0, 3)) == 0:
        who, action = draw(st.sampled_from([humans, agents])), draw(st.sampled_from(["read_ledger", "manage_users"]))
        project = ResourceFacts(type="Project", name="default")
        return Query(principal=draw(who), level=None, action=action, resource=project, request=request)
    if draw(st.integers(0, 4)) == 0:
        action = draw(st.sampled_from(["declare", "advise"]))
        return Query(
            principal=principal, level=None, action=action, resource=draw(st.sampled_from(Level)), request=request
        )
    return Query(
        principal=principal,
        level=draw(st.sampled_from(Level)),
        action=draw(st.sampled_from(AGENT_ACTIONS)),
        resource=draw(resources),
        request=request,
    )


def bundle_of(added: Sequence[tuple[str, ...]]) -> Bundle:
    texts = [
        f'@id("added.{number}") {effect} ({principal}, {action}, {resource}) {word} {{ {condition} }};'
        for number, (effect, principal, action, resource, word, condition) in enumerate(added)
    ]
    return unchecked(RULES + "\n".join(texts))


@cache
def ground() -> Ground:
    return Ground(unchecked("").schema, project="default")


def whole_set(bundle: Bundle, query: Query) -> tuple[bool, list[str], list[str]]:
    """Return what bare Cedar says over all policies, without any code of the slices."""
    population = Population("default")
    request = population.add(query)
    entities = ground().with_facts(population.entities())
    result = cedarpy.is_authorized_batch([request], policy_set(list(bundle.policies.values())), entities)[0]
    errors = sorted(re.sub(r'Request::"\d+"', 'Request::"-"', error) for error in result.diagnostics.errors)
    return result.allowed, sorted(result.diagnostics.reasons), errors


@LAW
@given(rules, st.lists(questions(), min_size=1, max_size=6))
def test_a_slice_answers_like_the_whole_set(added: list[tuple[str, ...]], asked: list[Query]) -> None:
    engine = Engine(bundle_of(added))
    known = [(query, place) for query, place in zip(asked, engine._slices.places(asked), strict=True) if place]
    verdicts = engine._ask([(query, place[0]) for query, place in known])
    for (query, _), verdict in zip(known, verdicts, strict=True):
        sliced = (verdict.allowed, sorted(verdict.reasons), sorted(verdict.errors))
        assert sliced == whole_set(engine.bundle, query)


ONE_RULE = [
    *((principal, "action", "resource", "true") for principal in PRINCIPALS),
    *(("principal", "action", resource, "true") for resource in RESOURCES),
    *(("principal", "action", "resource", condition) for condition in CONDITIONS),
]
POST = Query(
    principal=AgentFacts(subject="agent:1", max_level=3),
    level=Level.L3,
    action="post",
    resource=ResourceFacts(name="shop"),
    request=RequestFacts(),
)
CALL = replace(POST, action="call_tool", resource=ResourceFacts(type="Tool", name="shop"))
READ_LEDGER = Query(
    principal=HumanFacts(person="ada", assurance=3),
    level=None,
    action="read_ledger",
    resource=ResourceFacts(type="Project", name="default"),
    request=RequestFacts(),
)
DECLARE = replace(POST, action="declare", resource=Level.L2, level=None)


@pytest.mark.parametrize("rule", ONE_RULE, ids=" | ".join)
def test_no_fact_that_a_rule_reads_is_missing_from_the_key(rule: tuple[str, str, str, str]) -> None:
    principal, action, resource, condition = rule
    text = f'@id("one") forbid ({principal}, {action}, {resource}) when {{ {condition} }};'
    bundle = unchecked(f'@id("all") permit (principal, action, resource); {text}')
    engine = Engine(bundle)
    outcomes = set()
    for base in (POST, CALL, DECLARE, READ_LEDGER):
        for query in [base, *neighbours(base), base]:
            allowed, reasons, errors = whole_set(bundle, query)
            decision = engine.decide(query)
            assert (decision.allowed, sorted(decision.errors)) == (allowed and not errors, errors)
            assert errors or list(decision.policies) == reasons
            outcomes.add((decision.allowed, bool(errors)))
    assert len(outcomes) > 1 or condition in CONSTANT


def neighbours(query: Query) -> Iterator[Query]:
    """Yield the question with each one fact changed: what a key that lacks the fact would confuse."""
    for part in ("principal", "resource", "request"):
        facts = getattr(query, part)
        if isinstance(facts, Level):
            yield from (replace(query, resource=level) for level in Level)
        else:
            for f in fields(facts):
                for value in CHANGES[f.name] if f.name in CHANGES else CHANGED[type(getattr(facts, f.name))]:
                    yield replace(query, **{part: replace(facts, **{f.name: value})})
    if query.level is not None:
        yield from (replace(query, level=level) for level in Level)


CHANGED: dict[type, Sequence[Any]] = {bool: [True], int: [5], str: ["other"], frozenset: [frozenset({"provenance"})]}
CHANGES: dict[str, Sequence[Any]] = {
    "type": [],
    "subject": ["agent:2", "person"],
    "kind": ["api_token"],
    "operated_by": ["person:1", "person:2"],
    "max_level": [1, 5],
    "name": ["comments", "-"],
    "reviews": [1, 2],
    "person": ["eve"],
    "assurance": [1, 4],
    "roles": [frozenset({"admin"}), frozenset({"auditor"})],
    "tags": [{"arg:amount": "1"}, {"arg:amount": "2"}, {"api_token": "1"}, {"anonymous": "1"}],
}
CONSTANT = frozenset(
    {
        "true",
        "[principal] == [principal]",
        "context == context",
        "context.request has requester",
        "context.request.requester.verified",
        "principal.max_level + 9223372036854775807 > 0",
    }
)
"""Conditions that are the same whatever the facts."""
