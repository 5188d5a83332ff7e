"""What `policy check` says of a bundle: everything that loading finds, and what only deciding shows.

It never raises, whatever the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from negotiator.errors import PolicyError
from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.findings import Finding, Severity
from negotiator.model.levels import ABILITIES, Level
from negotiator.policy.bundle import Bundle, read_bundle
from negotiator.policy.engine import Engine
from negotiator.policy.matrix import negotiate
from negotiator.policy.policies import fault

__all__ = ["check_bundle"]


def check_bundle(files: Mapping[str, bytes]) -> list[Finding]:
    """Return every finding on a bundle, errors first; none of them an error if and only if it loads."""
    bundle, findings = read_bundle(files)
    return findings if bundle is None else [*_live(bundle), *findings]


def _live(bundle: Bundle) -> Iterator[Finding]:
    if bundle.empty:
        yield _warning("policies_empty", "there is no policy: everything is denied", "restore the policies")
    try:
        engine = Engine(bundle, cache_size=0)
    except PolicyError as problem:
        yield fault(problem.code, problem.message, "bundle")
        return
    for action in _exhausted(engine):
        message = f"{action}: what is required never ends; the rounds stop at their bound and refuse"
        yield _warning("obligation_rounds", message, "let the forbids of one action require fewer things in turn")


def _exhausted(engine: Engine) -> list[str]:
    """Return the actions whose rounds do not end, for agents with every ability, known or not, at every level."""
    abilities: dict[str, Any] = dict.fromkeys(ABILITIES, True)
    ended: set[str] = set()
    for level in Level:
        stranger = AgentFacts(subject="probe", declared_level=level, **abilities)
        for principal in (stranger, stranger.identified()):
            matrix = negotiate(engine, principal=principal, level=level, request=RequestFacts(), surface=())
            ended.update(matrix.exhausted)
    return sorted(ended)


def _warning(code: str, message: str, remedy: str) -> Finding:
    return Finding(code=code, severity=Severity.WARNING, message=message, remedy=remedy, source="bundle")
