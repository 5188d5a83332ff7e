"""Questions put to the policies, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from negotiator.model.facts import AgentFacts, HumanFacts, RequestFacts, ResourceFacts
from negotiator.model.findings import Finding
from negotiator.model.levels import Level
from negotiator.model.obligations import Obligation

__all__ = ["Admission", "Decision", "Query"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question: may `principal`, acting at effective level `level`, do `action` upon `resource`?

    `level` is None for people, and while the level itself is being decided (`declare`, `advise`); the resource is a
    `Level` then.
    """

    principal: AgentFacts | HumanFacts
    level: Level | None
    action: str
    resource: ResourceFacts | Level
    request: RequestFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer to a query, with its reasons.

    Attributes:
        decision: `allow` or `deny`; anything that went wrong is a deny.
        code: `allowed`; `policy_error` where evaluation failed; else the code of the first missing obligation,
            or `refused` where nothing that the caller could bring would help.
        policies: sorted ids of the policies that determined it; `no-permit` where none did.
        obligations: everything that is missing, at once, in the registry's order; empty when allowed or refused.
        reason: the title of the leading policy that no obligation can satisfy; empty otherwise.
        remedy: what would have to be declared or arranged instead, as that policy says; empty otherwise.
        fallback: what to do instead; from `@fallback`, else empty.
        errors: sorted evaluation errors, for operators; never shown to callers.
        bundle_digest: the bundle that decided.
    """

    decision: Literal["allow", "deny"]
    code: str
    policies: tuple[str, ...]
    obligations: tuple[Obligation, ...] = ()
    reason: str = ""
    remedy: str = ""
    fallback: str = ""
    errors: tuple[str, ...] = ()
    bundle_digest: str

    @property
    def allowed(self) -> bool:
        """Whether the decision is `allow`."""
        return self.decision == "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What became of a declaration.

    Attributes:
        effective: the first level, from the declared one downwards, that the policies allow; None if none.
        findings: errors from `declare`, warnings from `advise`, and `level_capped` where it was.
        obligations: what would lift the cap.
        decision: the deciding answer: at the declared level, or where the search ended.
    """

    effective: Level | None
    findings: tuple[Finding, ...]
    obligations: tuple[Obligation, ...]
    decision: Decision
