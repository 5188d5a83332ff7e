"""From what Cedar says to a `Decision`.

Rules:

- Errors are looked at before the decision: a forbid that errs is skipped by Cedar, and a broad permit would win.
- No decision is a deny, recorded as such.
- A deny that only needs something lists all of it; one forbid that nothing can satisfy makes it `refused`.
- Reasons and errors are sorted; a deny without reasons is the policy `no-permit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from negotiator.model.decisions import Decision
from negotiator.model.obligations import Obligation, in_order, obligation_kind
from negotiator.policy.bundle import Bundle
from negotiator.policy.policies import Policy

__all__ = ["NO_PERMIT", "POLICY_ERROR", "Answers", "Verdict", "conditional", "final", "obligations", "refused"]

NO_PERMIT = "no-permit"
POLICY_ERROR = "policy-error"

_REMEMBERED = 1024
_ERRED = re.compile(r"error while evaluating policy `([^`]*)`")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Cedar's own answer: whether it says `Allow`, with the reasons and errors in no order."""

    allowed: bool
    reasons: Sequence[str]
    errors: Sequence[str]


class Answers:
    """Makes decisions of verdicts, with one round of obligations.

    What annotations say to some reasons is always the same, so the last `_REMEMBERED` such answers are kept.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._worded = lru_cache(_REMEMBERED)(partial(_worded, bundle))

    def answer(self, verdict: Verdict) -> Decision:
        """Return the decision that `verdict` amounts to."""
        if verdict.errors:
            return _erred(verdict.errors, self._bundle)
        return self._worded(verdict.allowed, tuple(sorted(verdict.reasons)))


def _worded(bundle: Bundle, allowed: bool, reasons: tuple[str, ...]) -> Decision:  # noqa: FBT001 - a cache key
    if allowed:
        return Decision(decision="allow", code="allowed", policies=reasons, bundle_digest=bundle.digest)
    if not reasons or final(reasons, bundle):
        return refused(reasons, bundle)
    return conditional(reasons, bundle)


def obligations(policy_ids: Iterable[str], policies: Mapping[str, Policy]) -> tuple[Obligation, ...]:
    """Return what the policies among `policy_ids` with `@requires` ask for, in the registry's order."""
    asking: dict[str, list[Policy]] = {}
    for policy_id in sorted(set(policy_ids)):
        policy = policies[policy_id]
        if wanted := policy.note("requires"):
            asking.setdefault(wanted, []).append(policy)
    return tuple(_obligation(wanted, asking[wanted]) for wanted in in_order(asking))


def final(policy_ids: Iterable[str], bundle: Bundle) -> list[str]:
    """Return those of the policies that nothing a caller brings can satisfy: the ones without `@requires`."""
    return [policy_id for policy_id in policy_ids if not bundle.policies[policy_id].note("requires")]


def refused(reasons: Sequence[str], bundle: Bundle) -> Decision:
    """Return the deny that nothing lifts.

    Its words are those of the leading policy that requires nothing: of several, the first that names a way around.
    """
    decisive = [bundle.policies[reason] for reason in final(reasons, bundle) or reasons]
    leading = next((policy for policy in decisive if policy.note("fallback")), decisive[0] if decisive else None)
    return Decision(
        decision="deny",
        code="refused",
        policies=tuple(reasons) or (NO_PERMIT,),
        reason=leading.title if leading else "no policy permits this",
        remedy=leading.note("remedy") if leading else "",
        fallback=_fallback(reasons, bundle),
        bundle_digest=bundle.digest,
    )


def conditional(reasons: Sequence[str], bundle: Bundle) -> Decision:
    """Return the deny that lists what is missing; at least one of the reasons carries `@requires`."""
    missing = obligations(reasons, bundle.policies)
    kind = obligation_kind(missing[0].id)
    return Decision(
        decision="deny",
        code=kind.code if kind else "refused",
        policies=tuple(reasons),
        obligations=missing,
        fallback=_fallback(reasons, bundle),
        bundle_digest=bundle.digest,
    )


def _erred(errors: Iterable[str], bundle: Bundle) -> Decision:
    told = tuple(sorted(errors))
    named = {match[1] for error in told for match in _ERRED.finditer(error)}
    return Decision(
        decision="deny",
        code="policy_error",
        policies=tuple(sorted(named & bundle.policies.keys())) or (POLICY_ERROR,),
        reason="the policies could not be evaluated",
        errors=told,
        bundle_digest=bundle.digest,
    )


def _obligation(wanted: str, asking: Sequence[Policy]) -> Obligation:
    kind = obligation_kind(wanted)
    remedies = dict.fromkeys(remedy for policy in asking if (remedy := policy.note("remedy")))
    return Obligation(
        id=wanted,
        title=kind.title if kind else wanted,
        remedy="; ".join(remedies),
        policies=tuple(policy.id for policy in asking),
    )


def _fallback(reasons: Iterable[str], bundle: Bundle) -> str:
    return next((text for reason in reasons if (text := bundle.policies[reason].note("fallback"))), "")
