"""Evidence: handed in, kept by its digest, and used by whom it is about.

Rules:

- Content is public to nobody: a row (evidence, subject) says who may use it, and as what. Knowing a digest is not
  access; what is unknown and what is somebody else's look alike.
- Origin `system` is ours, `attested` is signed by a key that an operator registered and about this agent, `self` is
  the agent's own word. Kinds in `NEVER_SELF` are refused as `self`.
- Named in `UAIX-Evidence`, it is a claim (`brought.py`). What the caller may not use is as if it had not been named.
- Each agent has a bounded number and size of what it has handed in; it may withdraw it again.

It does not: fetch anything, render anything, or say that evidence is true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from negotiator.errors import ClaimFailed, RequestError
from negotiator.messages import Catalog, decode_message
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.evidence import (
    NEVER_SELF,
    Evidence,
    EvidenceIssuer,
    EvidenceLink,
    EvidenceOrigin,
)
from negotiator.model.governed import Presented
from negotiator.model.obligations import EVIDENCE_KINDS
from negotiator.model.records import Principal
from negotiator.ports import Attestations, Clock, Ids, Reader, Store, Tx
from negotiator.services.brought import EVIDENCE_USABLE
from negotiator.services.callers import Caller, Callers, until_claimed
from negotiator.services.policies import Policies
from negotiator.services.recording import presented_members
from negotiator.services.validation import Validation

__all__ = [
    "EvidenceTerms",
    "Evidences",
    "Handed",
    "add_evidence",
    "attested_by",
    "evidence_entry",
    "identified",
]

_REPORT_PROFILE = "uai.agent.final-report.v1"
_JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceTerms:
    """What a site's configuration fixes.

    Attributes:
        max_bytes: larger content is refused.
        max_items, max_total_bytes: what one agent may have handed in at a time.
    """

    max_bytes: int
    max_items: int
    max_total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What became of evidence that was handed in.

    Attributes:
        new: False where the same was there already.
    """

    link: EvidenceLink
    new: bool


class Evidences:
    """The evidence of one project, as agents see it."""

    def __init__(
        self,
        *,
        store: Store,
        callers: Callers,
        policies: Policies,
        catalog: Catalog,
        attestations: Attestations,
        clock: Clock,
        ids: Ids,
        terms: EvidenceTerms,
        max_message_bytes: int,
    ) -> None:
        self._store = store
        self._callers = callers
        self._policies = policies
        self._catalog = catalog
        self._validation = Validation(catalog, max_message_bytes=max_message_bytes)
        self._attestations = attestations
        self._clock = clock
        self._ids = ids
        self.terms = terms

    async def hand_in(
        self, content: bytes, presented: Presented, *, media_type: str, kind: str, attestation: str
    ) -> Handed:
        """Keep evidence that an agent hands in.

        Args:
            content: the bytes; of `validator_output` without an attestation the message that is to be validated.
            presented: the claims of the request's headers.
            media_type: as it was sent.
            kind: what it is evidence of; may be empty for a final report.
            attestation: a detached JWS of a registered issuer; empty where there is none.

        Raises:
            RequestError: `identity_required`, `credentials_invalid`, `evidence_kind_invalid`, `evidence_never_self`,
                `evidence_invalid`, `attestation_invalid`, `evidence_quota_reached`, `body_too_large`.
            UnavailableError: it could not be recorded.
        """
        return await until_claimed(
            lambda failed: self._hand_in(content, presented, failed, media_type, kind=kind, attestation=attestation)
        )

    async def _hand_in(
        self,
        content: bytes,
        presented: Presented,
        failed: frozenset[str],
        media_type: str,
        *,
        kind: str,
        attestation: str,
    ) -> Handed:
        caller = identified(await self._callers.resolve(presented, fresh=True, failed=failed))
        subject = caller.identity.subject
        kind = _checked_kind(kind or await asyncio.to_thread(self._kind_of, content))
        origin: EvidenceOrigin = "self"
        issuer_id = ""
        if attestation:
            issuer = await self._attested(content, attestation, kind=kind, about=subject)
            origin, issuer_id = "attested", issuer.key_id
        elif kind == "validator_output":
            content, media_type = await asyncio.to_thread(self._validated, content), _JSON
            origin = "system"
        elif kind in NEVER_SELF:
            message = f"{kind} is somebody else's word; hand it in signed by a registered issuer"
            raise RequestError(message, code="evidence_never_self")
        evidence = Evidence.of(content, media_type, self._clock.now())
        link = EvidenceLink(
            evidence_id=evidence.evidence_id,
            subject=subject,
            kind=kind,
            origin=origin,
            issuer_id=issuer_id,
            uploader=subject,
            created_at=evidence.created_at,
        )
        members = {"decision_id": self._ids.new(), **presented_members(presented)}

        def unit(tx: Tx) -> Handed:
            caller.claim(tx)
            return add_evidence(tx, evidence, link, terms=self.terms, members=members)

        return await self._store.transact(unit)

    async def get(self, evidence_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return what the caller may know of evidence that it may use, without the content.

        Raises:
            RequestError: `not_found`, also where it is somebody else's; `credentials_invalid`.
        """
        subject = (await self._callers.resolve(presented, fresh=True)).identity.subject

        def query(reader: Reader) -> tuple[Sequence[EvidenceLink], Evidence | None]:
            links = reader.evidence.links(evidence_id, subject)
            return links, reader.evidence.get(evidence_id) if links else None

        links, found = await self._store.read(query)
        if found is None:
            _not_found()
        return {
            "id": evidence_id,
            "media_type": found.media_type,
            "bytes": found.size,
            "counts_as": [link.as_json() for link in links],
        }

    async def withdraw(self, evidence_id: str, presented: Presented) -> None:
        """Take back what the caller has handed in: from this commit on it counts for nothing.

        Raises:
            RequestError: `not_found`, also where somebody else handed it in; `credentials_invalid`.
            UnavailableError: it could not be recorded.
        """
        await until_claimed(lambda failed: self._withdraw(evidence_id, presented, failed))

    async def _withdraw(self, evidence_id: str, presented: Presented, failed: frozenset[str]) -> None:
        caller = await self._callers.resolve(presented, fresh=True, failed=failed)
        subject = caller.identity.subject
        members = {"decision_id": self._ids.new(), **presented_members(presented)}

        def unit(tx: Tx) -> None:
            caller.claim(tx)
            if not tx.evidence.withdraw(evidence_id, subject):
                _not_found()
            tx.append(evidence_entry("evidence_withdrawn", evidence_id, subject, members))

        await self._store.transact(unit)

    def _kind_of(self, content: bytes) -> str:
        """Return the kind that a message has by its profile; empty for everything else."""
        try:
            return "final_report" if decode_message(content, self._catalog).profile == _REPORT_PROFILE else ""
        except RequestError:
            return ""

    async def _attested(self, content: bytes, attestation: str, *, kind: str, about: str) -> EvidenceIssuer:
        issuers = await self._store.read(lambda reader: reader.evidence.issuers())
        return await asyncio.to_thread(
            attested_by, self._attestations, issuers, content, attestation, kind=kind, about=about
        )

    def _validated(self, content: bytes) -> bytes:
        """Return our own report on a message, which names its digest.

        Raises:
            RequestError: `evidence_invalid`; `body_too_large`.
        """
        report = self._validation.report(content, self._policies.engine, now=self._clock.now(), strict=False)
        if not report["valid"]:
            faults = ", ".join(
                dict.fromkeys(each["code"] for each in report["findings"] if each["severity"] == "error")
            )
            message = f"the message is not valid, so there is no output to keep: {faults}"
            raise RequestError(message, code="evidence_invalid")
        return orjson.dumps(report, option=orjson.OPT_SORT_KEYS)


def add_evidence(
    tx: Tx, evidence: Evidence, link: EvidenceLink, *, terms: EvidenceTerms | None, members: Mapping[str, EntryValue]
) -> Handed:
    """Keep evidence and say so in the ledger; the same again changes nothing and says nothing.

    Args:
        tx: the unit's view.
        evidence: the content.
        link: for whom it counts, and as what.
        terms: what its uploader may have handed in; None for what is ours.
        members: further members of the entry.

    Raises:
        ClaimFailed: `evidence_usable`: its issuer was revoked.
        RequestError: `evidence_quota_reached`.
    """
    if link.issuer_id and not tx.evidence.claim_issuer(link.issuer_id):
        raise ClaimFailed(EVIDENCE_USABLE)
    if tx.evidence.claim(link):
        return Handed(link=link, new=False)
    if terms is not None:
        _check_quota(tx, evidence, link, terms)
    tx.evidence.add(evidence, link)
    own: dict[str, EntryValue] = {
        "evidence_kind": link.kind,
        "origin": link.origin,
        "uploader": link.uploader,
        "bytes": evidence.size,
    }
    if link.issuer_id:
        own["issuer_id"] = link.issuer_id
    tx.append(evidence_entry("evidence_added", link.evidence_id, link.subject, own | dict(members)))
    return Handed(link=link, new=True)


def attested_by(
    attestations: Attestations,
    issuers: Sequence[EvidenceIssuer],
    content: bytes,
    attestation: str,
    *,
    kind: str,
    about: str,
) -> EvidenceIssuer:
    """Return the issuer that has signed these bytes, as this kind, about this subject.

    Raises:
        RequestError: `attestation_invalid`, for everything else.
    """
    valid = {issuer.key_id: issuer for issuer in issuers if issuer.revoked_at is None}
    said = attestations.verified(attestation, content, {key: each.public for key, each in valid.items()}.get)
    issuer = valid[said.key_id]
    if (said.kind, said.about) != (kind, about) or kind not in issuer.kinds:
        message = "the attestation says something else: check kind and subject, and what the issuer may attest"
        raise RequestError(message, code="attestation_invalid")
    return issuer


def evidence_entry(code: str, evidence_id: str, subject: str, members: Mapping[str, EntryValue]) -> EntryDraft:
    """Return the entry of a change to evidence: digests and words of ours, never the content."""
    own: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "principal": Principal(type="Agent", id=subject).as_json(),
        "evidence_id": evidence_id,
    }
    return EntryDraft(kind=EntryKind.EVIDENCE, members={**own, **members})


def identified(caller: Caller) -> Caller:
    """Return a caller that is known by name.

    Raises:
        RequestError: `identity_required`.
    """
    if not caller.identity.verified:
        message = "this is for agents that are known here; present an agent credential"
        raise RequestError(message, code="identity_required")
    return caller


def _checked_kind(kind: str) -> str:
    if kind not in EVIDENCE_KINDS:
        message = f"say in the query what it is evidence of: kind={'|'.join(EVIDENCE_KINDS)}"
        raise RequestError(message, code="evidence_kind_invalid")
    return kind


def _check_quota(tx: Tx, evidence: Evidence, link: EvidenceLink, terms: EvidenceTerms) -> None:
    items, total = tx.evidence.used(link.uploader)
    if items >= terms.max_items or total + evidence.size > terms.max_total_bytes:
        message = f"you have handed in {items} pieces of evidence, {total} bytes; withdraw what is no longer needed"
        raise RequestError(message, code="evidence_quota_reached")


def _not_found() -> NoReturn:
    message = "there is no such evidence, or it is not yours"
    raise RequestError(message, code="not_found")
