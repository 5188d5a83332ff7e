"""Policies: what may be done, decided by Cedar. The only package that imports `cedarpy`.

    policies      one file of text to policies          vocabulary   what the schema says of actions
    expressions   what a policy reads and names          checks       what our own registries refuse
    bundle        files to a checked set                 slices       the policies of one question, and its key
    entities      facts to Cedar entities                probes       questions with known answers
    answers       Cedar's words to a `Decision`          engine       the decision point
    admission     the effective level                    rounds       everything missing, at once
    matrix        what an agent may do here              check        what `policy check` says
    approving     which person may approve
    reference     the vocabulary as a document

Rules:

- Facts in, answers out: no clock, disk, network, environment or randomness.
- Loading raises `PolicyError`, deciding never raises: what goes wrong is a deny.
"""

from __future__ import annotations

from negotiator.model.decisions import Decision, Query
from negotiator.policy.admission import POSTED, admit, level_of
from negotiator.policy.approving import Approving
from negotiator.policy.bundle import Bundle, bundle_digest
from negotiator.policy.checks import RESERVED_IDS
from negotiator.policy.engine import Engine
from negotiator.policy.loading import check_bundle, load_bundle
from negotiator.policy.matrix import Matrix, Target, negotiate, surface_of
from negotiator.policy.reference import policy_reference
from negotiator.policy.rounds import settle

__all__ = [
    "POSTED",
    "RESERVED_IDS",
    "Approving",
    "Bundle",
    "Engine",
    "Matrix",
    "Target",
    "admit",
    "bundle_digest",
    "check_bundle",
    "decide",
    "level_of",
    "load_bundle",
    "negotiate",
    "policy_reference",
    "settle",
    "surface_of",
]


def decide(decider: Bundle | Engine, query: Query) -> Decision:
    """Return the answer to one question, with one round of obligations.

    Args:
        decider: an engine; or a bundle, for which an engine is made each time.
        query: what is asked.
    """
    engine = decider if isinstance(decider, Engine) else Engine(decider)
    return engine.decide(query)
