"""What each level may do at this site, for discovery: the matrix of a caller that has all its rung offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.levels import LOWEST_LEVEL_OF_ABILITY, Level
from negotiator.model.obligations import EVIDENCE_KINDS
from negotiator.policy import Engine, Target, negotiate

__all__ = ["access_by_level"]

_WELL_DECLARED = RequestFacts(
    profile_matches=True,
    proposal_profile_declared=True,
    consent_boundary=True,
    consents_write=True,
    consents_authorization=True,
    consents_memory=True,
    consents_public_publishing=True,
    consents_coordination=True,
    declared_evidence=frozenset(EVIDENCE_KINDS),
    evidence_declared=True,
    has_provenance=True,
    has_integrity=True,
    fallback_named=True,
    rollback_named=True,
    has_timeout=True,
    has_idempotency_key=True,
    has_correlation=True,
    has_expiry=True,
)
"""The facts of a complete and honest declaration."""


def access_by_level(engine: Engine, surface: Sequence[Target]) -> Mapping[Level, Mapping[str, Any]]:
    """Return, for each level, the `actions` of a verified caller of that level with every ability of its rung.

    It is a function of the policies and the routes alone.
    """
    return {
        level: negotiate(
            engine, principal=_exemplar(level), level=level, request=_WELL_DECLARED, surface=surface
        ).as_json()
        for level in Level
    }


def _exemplar(level: Level) -> AgentFacts:
    abilities = {ability: lowest <= level for ability, lowest in LOWEST_LEVEL_OF_ABILITY.items()}
    return AgentFacts(
        subject="example",
        kind="api_token",
        verified=True,
        max_level=int(level),
        declared_level=int(level),
        operated_by="",
        **abilities,
    )
