"""Rounds: what a caller would have to bring, all of it at once.

Rules:

- Each round satisfies every newly named obligation together and asks again: until allowed (conditional), until
  nothing new is named (refused), or `MAX_ROUNDS` (refused; `policy check` tells).
- `identity` makes the principal a verified one and decides its effective level again.
- A refusal names the forbids of the last round that require nothing. A conditional answer names every policy met on
  the way, and every obligation.
- An error ends it: the answer is that error's.
- All questions of a round are asked together.

Nothing here is a promise: what is assumed in a round is decided again when it is really brought.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from negotiator.model.decisions import Decision, Query
from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.levels import Level
from negotiator.model.obligations import obligation_kind
from negotiator.policy.admission import POSTED, level_of
from negotiator.policy.answers import conditional, final, refused
from negotiator.policy.bundle import Bundle
from negotiator.policy.engine import Engine

__all__ = ["MAX_ROUNDS", "Relevel", "Settlement", "settle", "settle_all"]

MAX_ROUNDS = 8

Relevel: TypeAlias = Callable[[AgentFacts], Level | None]
"""Decides the effective level of a changed principal; None leaves the level as it is."""

_ENOUGH_REVIEWS = 100
_EVIDENCE = "evidence:"
_OURS = frozenset({"consent_record", "memory_review", "validator_output"})
"""Evidence that only this system makes; the other kinds an agent can bring attested."""

_GIVEN: Mapping[str, Mapping[str, Any]] = {
    "declaration": {"profile_matches": True, "fallback_named": True},
    "review": {"reviews": _ENOUGH_REVIEWS},
    "unexpired": {"is_expired": False},
}
"""What meets an obligation, where it is not simply that its fact becomes true."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """Where the rounds ended.

    Attributes:
        decision: allow; or a deny that lists everything missing; or one that nothing can lift.
        exhausted: whether the bound ended them.
    """

    decision: Decision
    exhausted: bool = False


def settle(engine: Engine, query: Query) -> Decision:
    """Return the answer to a governed request; a refusal lists everything that is missing at once."""

    def relevel(principal: AgentFacts) -> Level | None:
        return level_of(engine, principal, RequestFacts(**query.request.declared(), **POSTED))

    [settlement] = settle_all(engine, [query], relevel)
    return settlement.decision


def settle_all(engine: Engine, queries: Sequence[Query], relevel: Relevel) -> list[Settlement]:
    """Return where the rounds of each question end, in the order of the questions."""
    cells = [_Cell(query) for query in queries]
    for _ in range(MAX_ROUNDS):
        waiting = [cell for cell in cells if cell.settled is None]
        if not waiting:
            break
        for cell, decision in zip(waiting, engine.decide_all([cell.query for cell in waiting]), strict=True):
            cell.hear(decision, engine.bundle, relevel)
    return [cell.end(engine.bundle) for cell in cells]


@dataclass(slots=True)
class _Cell:
    """One question on its way through the rounds."""

    query: Query
    met: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)
    last: tuple[str, ...] = ()
    settled: Decision | None = None

    def hear(self, decision: Decision, bundle: Bundle, relevel: Relevel) -> None:
        """Take the answer of a round: settle, or change the question."""
        if decision.errors or (decision.allowed and not self.met):
            self.settled = decision
        elif decision.allowed:
            self.settled = conditional(sorted(self.reasons), bundle)
        else:
            self._denied(decision, bundle, relevel)

    def _denied(self, decision: Decision, bundle: Bundle, relevel: Relevel) -> None:
        self.last = tuple(reason for reason in decision.policies if reason in bundle.policies)
        named = {bundle.policies[reason].note("requires") for reason in self.last} - {""}
        self.reasons.update(self.last)
        if named <= self.met:
            self.settled = self._refused(bundle)
        else:
            self.query = _satisfied(self.query, named - self.met, relevel)
            self.met |= named

    def end(self, bundle: Bundle) -> Settlement:
        """Return where the rounds ended, also if the bound ended them."""
        return Settlement(self.settled or self._refused(bundle), exhausted=self.settled is None)

    def _refused(self, bundle: Bundle) -> Decision:
        return refused(final(self.last, bundle) or self.last, bundle)


def _satisfied(query: Query, wanted: Iterable[str], relevel: Relevel) -> Query:
    """Return the question as it would be asked once everything in `wanted` was brought."""
    changes: dict[str, Any] = {}
    tags = dict(query.request.tags)
    for name in sorted(wanted):
        if name.startswith(_EVIDENCE):
            tags[name] = "system" if name.removeprefix(_EVIDENCE) in _OURS else "attested"
        elif name in _GIVEN:
            changes |= _GIVEN[name]
        elif (kind := obligation_kind(name)) and kind.fact:
            changes[kind.fact] = True
    changed = replace(query, request=replace(query.request, **changes, tags=MappingProxyType(tags)))
    return _identified(changed, relevel) if "identity" in wanted else changed


def _identified(query: Query, relevel: Relevel) -> Query:
    """Return the question of the same agent, identified; a person is identified already."""
    if not isinstance(query.principal, AgentFacts):
        return query
    principal = query.principal.identified()
    level = relevel(principal)
    return replace(query, principal=principal, level=query.level if level is None else level)
