"""What an agent may do at a site, action by action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from negotiator.model.actions import AGENT_ACTIONS
from negotiator.model.facts import AgentFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.model.routes import RouteRule
from negotiator.policy import Target, negotiate, surface_of
from tests.support.policy import RULES, engine

KNOWN = AgentFacts(subject="agent:1", kind="api_token", verified=True, max_level=3, declared_level=3)
STRANGER = AgentFacts(subject="anon:1", declared_level=3)
POSTED = RequestFacts(has_idempotency_key=True, has_correlation=True)


def matrix(
    surface: Sequence[Target] = (), principal: AgentFacts = KNOWN, level: Level = Level.L3, rules: str = RULES
) -> dict[str, Any]:
    return negotiate(engine(rules), principal=principal, level=level, request=POSTED, surface=surface).as_json()


def ids(answer: dict[str, Any]) -> list[str]:
    return [obligation["id"] for obligation in answer["obligations"]]


def test_every_action_is_listed_and_promotion_is_for_people() -> None:
    actions = matrix()
    assert list(actions) == [*AGENT_ACTIONS, "promote_memory"]
    assert (actions["promote_memory"]["status"], actions["promote_memory"]["policies"]) == ("refused", ["human-only"])
    assert all(actions[name]["unrouted"] for name in AGENT_ACTIONS)


def test_allowed_conditional_and_refused() -> None:
    actions = matrix()
    assert (actions["read_json"]["status"], ids(actions["read_json"])) == ("allowed", [])
    assert (actions["post"]["status"], ids(actions["post"])) == ("conditional", ["consent", "idempotency_key"])
    assert actions["call_tool"]["status"] == "conditional"
    assert (actions["render_ui"]["status"], actions["render_ui"]["policies"]) == ("refused", ["no-permit"])


def test_the_headers_of_the_declaration_are_not_those_of_later_requests() -> None:
    assert "idempotency_key" in ids(matrix()["post"])


def test_identity_lifts_the_level_with_it() -> None:
    post = matrix(principal=STRANGER, level=Level.L2)["post"]
    assert (post["status"], ids(post)) == ("conditional", ["identity", "consent", "idempotency_key"])
    assert "write.level" in post["policies"]


def test_identity_does_not_help_where_the_declared_level_is_too_low() -> None:
    post = matrix(principal=replace(STRANGER, declared_level=2), level=Level.L2)["post"]
    assert (post["status"], post["policies"], post["reason"], post["fallback"]) == (
        "refused",
        ["write.level"],
        "writing starts at level L3",
        "read the page instead",
    )


def test_resources_are_listed_only_where_they_differ() -> None:
    comments = Target(action="post", resource=ResourceFacts(name="comments"), method="POST", route="/comments")
    shop = Target(action="post", resource=ResourceFacts(name="shop"), method="POST", route="/shop")
    forum = Target(action="post", resource=ResourceFacts(name="forum"), method="POST", route="/forum")
    post = matrix([shop, comments])["post"]
    assert post["status"] == "conditional"
    assert "unrouted" not in post
    assert {name: answer["status"] for name, answer in post["resources"].items()} == {
        "comments": "conditional",
        "shop": "refused",
    }
    assert post["resources"]["shop"] == {"status": "refused", "obligations": []}
    assert "resources" not in matrix([comments, forum])["post"]


def test_two_routes_of_one_resource_with_other_facts_are_both_asked() -> None:
    open_, closed = ResourceFacts(name="pages", public=True), ResourceFacts(name="pages")
    rules = (
        RULES
        + """@id("private") @title("private") forbid (principal, action == Uaix::Action::"read_static",
        resource) unless { resource.public };"""
    )
    surface = [Target(action="read_static", resource=one, route="/p") for one in (closed, open_)]
    assert matrix(surface, rules=rules)["read_static"]["status"] == "allowed"


def test_method_and_route_are_facts_of_each_target() -> None:
    rules = (
        RULES
        + """@id("delete") @title("no deleting") forbid (principal, action == Uaix::Action::"post", resource)
        when { context.request.method == "DELETE" && context.request.route == "/comments/{id}" };"""
    )
    rule = RouteRule(
        methods=frozenset({"DELETE"}),
        path="/comments/{id}",
        action="post",
        resource=ResourceFacts(name="comments"),
        undeclared="deny",
    )
    assert matrix(surface_of([rule]), rules=rules)["post"]["policies"] == ["delete"]
    assert matrix(surface_of([replace(rule, path="/other")]), rules=rules)["post"]["status"] == "conditional"


def test_a_held_memory_write_is_asked_as_a_proposal_and_answers_202() -> None:
    rule = RouteRule(
        methods=frozenset({"PUT"}),
        path="/memory",
        action="write_memory",
        resource=ResourceFacts(name="memory"),
        undeclared="deny",
    )
    held = matrix(surface_of([rule]))["write_memory"]
    assert (held["status"], held["answer"]) == ("allowed", 202)
    unrouted = matrix()["write_memory"]
    assert ids(unrouted) == ["memory_proposal"]
    assert "answer" not in unrouted


def test_a_surface_has_a_target_for_each_method() -> None:
    rule = RouteRule(
        methods=frozenset({"PUT", "GET"}), path="/p", action="post", resource=ResourceFacts(), undeclared="deny"
    )
    assert [(target.method, target.held) for target in surface_of([rule])] == [("GET", False), ("PUT", False)]
    assert [target.method for target in surface_of([replace(rule, methods=frozenset())])] == [""]
