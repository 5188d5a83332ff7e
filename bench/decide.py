"""What deciding costs, against the bare engine.

The baseline is `cedarpy.is_authorized_batch` of the same twelve questions over the whole set of policies, with
handles and schema, the same entities added per call. Ours goes from facts to answers with obligations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import cedarpy

from bench.measure import Row, ratio
from negotiator.model.actions import AGENT_ACTIONS
from negotiator.model.decisions import Query
from negotiator.model.facts import AgentFacts, RequestFacts, ResourceFacts
from negotiator.model.levels import Level
from negotiator.policy import Bundle, Engine, load_bundle
from negotiator.policy.entities import Ground, Population
from negotiator.policy.policies import policy_set

__all__ = ["bare", "rows"]

_POLICIES = Path(__file__).resolve().parent.parent / "policies"
_PROJECT = "default"


def rows() -> Iterator[Row]:
    """Yield the four rows of deciding."""
    shipped = load_bundle(_files())
    queries = _queries()
    baseline = bare(shipped, queries)
    uncached = Engine(shipped, cache_size=0)
    cached = Engine(shipped)
    yield ratio(lambda: uncached.decide_all(queries), baseline).row("decide_uncached", bound=0.9)
    yield ratio(lambda: cached.decide_all(queries), baseline).row("decide_cached", bound=0.02)
    yield _thousand("decide_1000_policies", queries, _by_name, bound=0.35)
    yield _thousand("decide_1000_group_policies", queries, _half_by_group, bound=0.7)


def _thousand(name: str, queries: Sequence[Query], scope: Callable[[int], str], *, bound: float) -> Row:
    added = "\n".join(_rule(number, scope(number)) for number in range(1000))
    bundle = load_bundle({**_files(), "added.cedar": added.encode()})
    engine = Engine(bundle, cache_size=0)
    return ratio(lambda: engine.decide_all(queries), bare(bundle, queries), calls=10).row(name, bound=bound)


def _rule(number: int, scope: str) -> str:
    """Return an operator's rule that reads a fact and matches nobody."""
    return (
        f'@id("added.{number}") @title("added rule {number}") forbid (principal is Uaix::Agent, {scope}, resource) '
        f'when {{ principal.subject == "agent:{number}" && !context.request.has_consent }};'
    )


def _by_name(number: int) -> str:
    return f'action == Uaix::Action::"{AGENT_ACTIONS[number % len(AGENT_ACTIONS)]}"'


def _half_by_group(number: int) -> str:
    if number % 2:
        return _by_name(number // 2)
    return f'action in Uaix::Action::"{("read", "write_like", "memory")[number // 2 % 3]}"'


def _queries() -> list[Query]:
    """Return the eleven agents' actions, and `read_static` upon a second resource."""
    agent = AgentFacts(
        subject="agent:1",
        kind="api_token",
        verified=True,
        max_level=3,
        declared_level=3,
        can_fetch_static=True,
        can_fetch_json=True,
        can_post_data=True,
        can_call_tools=True,
    )
    request = RequestFacts(
        method="POST",
        route="/comments",
        profile_matches=True,
        fallback_named=True,
        consent_boundary=True,
        consents_write=True,
    )
    pages = ResourceFacts(name="pages", kind="page", public=True)
    asked = [(action, ResourceFacts(name="comments", kind="comment")) for action in AGENT_ACTIONS]
    tool = ResourceFacts(type="Tool", name="search")
    return [
        Query(
            principal=agent,
            level=Level.L3,
            action=action,
            resource=tool if action == "call_tool" else resource,
            request=request,
        )
        for action, resource in [*asked, ("read_static", pages)]
    ]


def bare(bundle: Bundle, queries: Sequence[Query]) -> Callable[[], object]:
    """Return the bare engine's way: the whole set, and the same entities added in each call."""
    base = cedarpy.Entities.from_json_str(_levels(), bundle.schema)
    population = Population(_PROJECT)
    requests = [request for query in queries if (request := population.add(query))]
    delta = json.dumps(list(population.entities()))
    whole = policy_set(list(bundle.policies.values()))

    def ask() -> object:
        entities = base.with_added_json_str(delta, bundle.schema)
        return cedarpy.is_authorized_batch(requests, whole, entities, bundle.schema)

    return ask


def _levels() -> str:
    """Return the same base entities that the engine stands on."""
    return Ground(None, project=_PROJECT).as_json()


def _files() -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in _POLICIES.iterdir() if path.suffix in {".cedar", ".cedarschema"}}


if __name__ == "__main__":
    for row in rows():
        print(row)
