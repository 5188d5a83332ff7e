"""What the policies make of a declaration: who declares, what was asked, and what came out. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from negotiator.model.decisions import Admission, Query
from negotiator.model.entries import EntryValue
from negotiator.model.facts import AgentFacts, RequestFacts
from negotiator.model.findings import Finding, Severity
from negotiator.model.levels import Level
from negotiator.model.messages import Declaration
from negotiator.model.records import Identity, Negotiation
from negotiator.policy import POSTED, Engine, Matrix, Target, admit, negotiate
from negotiator.services.recording import decision_members

__all__ = ["Assessment", "assess", "declare_facts", "effective_level", "has_errors", "principal_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """One declaration under one bundle.

    Attributes:
        engine: what decided.
        declaration: what was declared.
        principal: the caller with its declared abilities.
        request: the facts of `declare`.
        admission: the effective level and why.
        matrix: what the caller may do; None where it was not admitted.
        findings: of schema, scan and policies together.
        strict: whether all eighteen members were demanded.
    """

    engine: Engine
    declaration: Declaration
    principal: AgentFacts
    request: RequestFacts
    admission: Admission
    matrix: Matrix | None
    findings: tuple[Finding, ...]
    strict: bool

    def entry_members(self) -> dict[str, EntryValue]:
        """Return the members of the `declare` entry that do not depend on ids."""
        level = self.admission.effective
        query = Query(
            principal=self.principal,
            level=None,
            action="declare",
            resource=self.declaration.level if level is None else level,
            request=self.request,
        )
        members = decision_members(query, self.admission.decision, engine=self.engine.name)
        members |= {
            "message_digest": self.declaration.message.digest,
            "encoding": self.declaration.message.encoding,
            "declared_level": self.declaration.level.name,
            "findings": sorted({finding.code for finding in self.findings}),
        }
        if level is not None:
            members["effective_level"] = level.name
        return members


def assess(
    engine: Engine,
    declaration: Declaration,
    identity: Identity,
    *,
    strict: bool,
    schema_findings: Sequence[Finding],
    surface: Sequence[Target],
) -> Assessment:
    """Admit the declaration and, if it is admitted, work out what its caller may do."""
    principal = principal_of(declaration, identity)
    request = declare_facts(declaration, strict=strict)
    admission = admit(engine, principal, request, declaration.pointers)
    matrix = None
    if admission.effective is not None:
        matrix = negotiate(engine, principal=principal, level=admission.effective, request=request, surface=surface)
    return Assessment(
        engine=engine,
        declaration=declaration,
        principal=principal,
        request=request,
        admission=admission,
        matrix=matrix,
        findings=(*schema_findings, *declaration.notes, *admission.findings),
        strict=strict,
    )


def effective_level(engine: Engine, negotiation: Negotiation | None) -> Level | None:
    """Return the level that a caller has under the policies of `engine`.

    A level that another bundle gave is an answer of that bundle: the declaration is judged again, and may only lose by
    it, since more is had by declaring again. None where these policies do not admit it any more.
    """
    if negotiation is None:
        return Level.L0
    if negotiation.bundle_digest == engine.bundle.digest:
        return negotiation.effective_level
    request = RequestFacts(**negotiation.declared.declared(), **POSTED, strict=negotiation.strict)
    again = admit(engine, negotiation.principal, request, {}).effective
    return None if again is None else min(again, negotiation.effective_level)


def declare_facts(declaration: Declaration, *, strict: bool) -> RequestFacts:
    """Return the facts of `declare` and `advise`: what the posted message says."""
    return RequestFacts(
        **declaration.facts.declared(),
        has_idempotency_key=declaration.has_idempotency_key,
        has_correlation=declaration.has_correlation,
        has_expiry=declaration.has_expiry,
        is_expired=declaration.is_expired,
        strict=strict,
    )


def principal_of(declaration: Declaration, identity: Identity) -> AgentFacts:
    """Return the principal: its identity from the credential, its abilities from the declaration."""
    return AgentFacts(
        subject=identity.subject,
        kind=identity.kind,
        verified=identity.verified,
        max_level=int(identity.max_level),
        declared_level=int(declaration.level),
        operated_by=identity.operated_by,
        **declaration.abilities,
    )


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether any finding refuses."""
    return any(finding.severity is Severity.ERROR for finding in findings)
