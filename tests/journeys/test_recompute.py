"""An entry holds all that its decision depended on: with the same bundle, whoever has the line decides the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from negotiator.model.decisions import Query
from negotiator.model.facts import AgentFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.policy import Engine, settle
from negotiator.shipped import load_catalog
from tests.support.house import PREFIX, House, house


def query_of(entry: dict[str, Any]) -> Query:
    facts = entry["facts"]
    request = dict(facts["request"])
    request["declared_evidence"] = frozenset(request.get("declared_evidence", ()))
    on_level = entry["resource"]["type"] == "Level"
    return Query(
        principal=AgentFacts(**facts["principal"]),
        level=Level.parse(facts["level"]) if "level" in facts else None,
        action=entry["action"],
        resource=Level.parse(entry["resource"]["id"]) if on_level else ResourceFacts(**facts["resource"]),
        request=RequestFacts(**request),
    )


def recomputed(engine: Engine, entry: dict[str, Any]) -> dict[str, Any]:
    query = query_of(entry)
    if isinstance(query.resource, Level):
        capped = query.resource < query.principal.declared_level
        [decision] = engine.decide_all([query], capping=capped)
    else:
        decision = settle(engine, query)
    return {
        "decision": decision.decision,
        "policies": list(decision.policies),
        "obligations": [obligation.id for obligation in decision.obligations],
        "bundle_digest": decision.bundle_digest,
    }


async def visit(built: House) -> None:
    async with built.client() as client:
        for level, cap in ((Level.L2, Level.L0), (Level.L2, Level.L3), (Level.L4, Level.L4), (Level.L6, Level.L3)):
            api_token = built.agent(f"{level.name}-{cap.name}".lower(), max_level=cap)
            for credential in (api_token, ""):
                token = await built.token(client, level, credential)
                headers = {"uaix-negotiation": token} | ({"uaix-credential": credential} if credential else {})
                for method, path in (("GET", "/page"), ("GET", "/screen"), ("POST", "/comments"), ("PUT", "/memory/a")):
                    await client.request(method, path, headers=headers, content=b"x" if method != "GET" else None)
        overclaiming = dict(load_catalog().examples[PROFILE_OF_LEVEL[Level.L1]])
        overclaiming["body"] = overclaiming["body"] | {"can_post_data": True}
        await client.post(f"{PREFIX}/negotiations", json=overclaiming)
        await client.get("/page")


async def test_every_decision_can_be_recomputed_from_its_entry(tmp_path: Path) -> None:
    schema = Draft202012Validator(load_catalog().schemas["entry"])
    with house(tmp_path) as built:
        await visit(built)
        decided = [entry for entry in built.entries() if "facts" in entry]
        for entry in decided:
            again = recomputed(built.negotiator.engine, entry)
            assert {name: entry[name] for name in again} == again, entry
        assert all(schema.is_valid(entry) for entry in built.entries())
    seen = {(entry["kind"], entry["decision"]) for entry in decided}
    assert seen >= {
        ("declare", "allow"),
        ("declare", "deny"),
        ("decision", "allow"),
        ("decision", "deny"),
        ("intent", "allow"),
    }
