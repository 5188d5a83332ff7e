"""Loading a bundle, and saying everything about one that may not load.

- A bundle loads only if an engine made of it passes its self-test, so that loaded means: can become active.
- A check has the same faults as findings, and what only deciding shows; it never raises, whatever the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from negotiator.errors import PolicyError
from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.findings import Finding, Severity
from negotiator.model.levels import ABILITIES, Level
from negotiator.policy.bundle import Bundle, read_bundle
from negotiator.policy.engine import Engine
from negotiator.policy.matrix import negotiate
from negotiator.policy.policies import fault

__all__ = ["check_bundle", "load_bundle"]

_TOLD = 20


def load_bundle(files: Mapping[str, bytes]) -> Bundle:
    """Return the bundle that `files` make.

    Args:
        files: relative path to content. `*.cedar` are policies, the one `*.cedarschema` is the schema; others are
            ignored.

    Raises:
        PolicyError: `policy_unparsable policy_id_missing policy_id_duplicate schema_invalid policy_invalid
            self_test_failed`; the message holds every fault found, the code is that of the first. No other exception
            escapes.
    """
    bundle, findings = read_bundle(files)
    faults = [finding for finding in findings if finding.severity is Severity.ERROR]
    if bundle is None or faults:
        raise PolicyError(_all_told(faults), code=faults[0].code)
    Engine(bundle, cache_size=0)
    return bundle


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


def _all_told(faults: Sequence[Finding]) -> str:
    more = f"; and {len(faults) - _TOLD} more" if len(faults) > _TOLD else ""
    return "; ".join(finding.message for finding in faults[:_TOLD]) + more
