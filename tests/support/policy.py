"""Small bundles over the shipped schema, and questions to ask of them.

`RULES` has one policy of each kind that the engine treats in its own way. `unchecked` makes a bundle of text that
loading would refuse, to see what the engine does where the checks failed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import cedarpy

from negotiator.model.decisions import Query
from negotiator.model.facts import AgentFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.policy import Bundle, Engine, load_bundle
from negotiator.policy.policies import parse_file
from negotiator.policy.vocabulary import Vocabulary, read_vocabulary

SCHEMA = (Path(__file__).parents[2] / "policies" / "schema.cedarschema").read_text(encoding="utf-8")

RULES = """
@id("read.allowed") @title("agents may read")
permit (principal is Uaix::Agent, action in Uaix::Action::"read", resource);

@id("write.allowed") @title("agents may write once every guard is satisfied")
permit (principal is Uaix::Agent, action in Uaix::Action::"write_like", resource);

@id("write.level") @title("writing starts at level L3") @fallback("read the page instead")
forbid (principal, action in Uaix::Action::"write_like", resource)
unless { principal in Uaix::Level::"L3" };

@id("write.identity") @title("only known agents write")
@requires("identity") @remedy("present an agent credential")
forbid (principal is Uaix::Agent, action in Uaix::Action::"write_like", resource)
unless { principal.verified };

@id("write.consent") @title("a human consents to each write")
@requires("consent") @remedy("open the access request")
forbid (principal, action in Uaix::Action::"write_like", resource)
unless { context.request.has_consent };

@id("write.consent-published") @title("publishing needs consent to publishing")
@requires("consent") @remedy("ask for consent to publish")
forbid (principal, action == Uaix::Action::"publish", resource)
unless { context.request.has_consent };

@id("write.key") @title("a write carries an idempotency key")
@requires("idempotency_key") @remedy("send Idempotency-Key")
forbid (principal, action in Uaix::Action::"write_like", resource)
unless { context.request.has_idempotency_key };

@id("audited.provenance") @title("audited systems bring provenance") @requires("evidence:provenance")
forbid (principal in Uaix::Level::"L6", action in Uaix::Action::"write_like", resource)
unless { context.request.hasTag("evidence:provenance") };

@id("shop.closed") @title("the shop takes no posts")
forbid (principal, action == Uaix::Action::"post", resource == Uaix::Resource::"shop");

@id("memory.allowed") @title("agents may propose memory")
permit (principal is Uaix::Agent, action == Uaix::Action::"write_memory", resource);

@id("memory.proposal") @title("memory is written by proposal alone") @requires("memory_proposal")
forbid (principal, action == Uaix::Action::"write_memory", resource)
unless { context.request.via_proposal };

@id("declare.allowed") @title("any level may be declared")
permit (principal is Uaix::Agent, action == Uaix::Action::"declare", resource);

@id("declare.javascript") @title("L0 and L1 do not run JavaScript") @remedy("declare L2 or leave it out")
@finding("capability_l0_l1_javascript_claim") @pointer("/body/can_execute_javascript")
forbid (principal is Uaix::Agent, action == Uaix::Action::"declare", resource)
when { principal.declared_level < 2 && principal.can_execute_javascript };

@id("declare.credential") @title("a declaration holds no secret") @finding("unsafe_credential")
forbid (principal is Uaix::Agent, action == Uaix::Action::"declare", resource)
when { context.request.has_unsafe_credential };

@id("cap.anonymous") @title("an unidentified client is at most L2")
@requires("identity") @remedy("present an agent credential")
forbid (principal is Uaix::Agent, action == Uaix::Action::"declare", resource in Uaix::Level::"L3")
when { !principal.verified };

@id("cap.operator") @title("an agent is capped by its operator") @remedy("ask the operator")
forbid (principal is Uaix::Agent, action == Uaix::Action::"declare", resource)
when { principal.max_level < resource.number };

@id("advise.allowed") @title("advice is free")
permit (principal is Uaix::Agent, action == Uaix::Action::"advise", resource);

@id("advise.correlation") @title("a declaration should carry a correlation id")
@finding("correlation_id_missing") @pointer("/conversation/correlation_id")
forbid (principal is Uaix::Agent, action == Uaix::Action::"advise", resource)
unless { context.request.has_correlation };
"""

ASK = Query(
    principal=AgentFacts(subject="agent:1", kind="api_token", verified=True, max_level=3, declared_level=3),
    level=Level.L3,
    action="post",
    resource=ResourceFacts(name="comments"),
    request=RequestFacts(),
)
"""An identified L3 agent posts, with nothing in its headers."""

MET = {"has_consent": True, "has_idempotency_key": True}
"""The request facts that let `ASK` pass."""


def files(rules: str = RULES, *, schema: str = SCHEMA) -> dict[str, bytes]:
    """Return the files of a bundle."""
    return {"rules.cedar": rules.encode(), "schema.cedarschema": schema.encode()}


def loaded(rules: str = RULES) -> Bundle:
    return load_bundle(files(rules))


def engine(rules: str = RULES, **options: Any) -> Engine:
    return Engine(loaded(rules), **options)


def unchecked(rules: str) -> Bundle:
    """Return a bundle of rules that were parsed and nothing more."""
    policies, faults = parse_file("rules.cedar", rules)
    assert not faults, faults
    schema, vocabulary = _schema()
    return Bundle(
        digest="0" * 64, policies={policy.id: policy for policy in policies}, schema=schema, vocabulary=vocabulary
    )


def ask(**changes: Any) -> Query:
    """Return `ASK` with changes: of the query itself, or of the facts in it that have the name."""
    query = ASK
    for name, value in changes.items():
        for part in ("principal", "resource", "request"):
            facts = getattr(query, part)
            if hasattr(facts, name) and not hasattr(query, name):
                query = replace(query, **{part: replace(facts, **{name: value})})
                break
        else:
            query = replace(query, **{name: value})
    return query


@cache
def _schema() -> tuple[cedarpy.Schema, Vocabulary]:
    schema = cedarpy.Schema.from_str(SCHEMA)
    return schema, read_vocabulary(schema)
