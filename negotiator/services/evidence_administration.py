"""What operators do about evidence: register whose word counts, hand evidence in for an agent, look at what there is.

Rules:

- A key is given by hand, never fetched. An issuer attests the kinds that it was registered for and no others; once it
  is revoked, nothing that it has signed counts any more.
- What is handed in on the host counts as what its attestation says; without one it is nobody's word (`self`), so that a
  shell on the host makes no consent record and no review.
- Parity records are made here, so they are ours (`system`).

Runs on the host, without an event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from negotiator.errors import RequestError, quoted
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.evidence import NEVER_SELF, Evidence, EvidenceIssuer, EvidenceLink, evidence_id
from negotiator.model.obligations import EVIDENCE_KINDS
from negotiator.ports import Attestations, Clock, Store, Tx
from negotiator.services.evidence import EvidenceTerms, Handed, add_evidence, attested_by

__all__ = ["EvidenceAdministration", "StoredEvidence"]

_MAX_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvidence:
    """Content and every link to it."""

    evidence: Evidence
    links: Sequence[EvidenceLink]


class EvidenceAdministration:
    """The evidence of one project and those who may attest it."""

    def __init__(
        self, *, store: Store, attestations: Attestations, clock: Clock, project: str, terms: EvidenceTerms
    ) -> None:
        self._store = store
        self._attestations = attestations
        self._clock = clock
        self._project = project
        self._terms = terms

    def add_issuer(self, name: str, key: str, *, kinds: Sequence[str], actor: str) -> EvidenceIssuer:
        """Register a key whose signatures count as somebody's word.

        Args:
            name: for people; unique among issuers that are not revoked.
            key: the public Ed25519 key, in PEM, as JWK, or base64url itself.
            kinds: what it may attest; at least one.
            actor: the user of this host, for the ledger.

        Raises:
            RequestError: `issuer_invalid`, `evidence_kind_invalid`, `name_invalid`, `name_taken`.
            UnavailableError: it could not be recorded.
        """
        key_id, public = self._attestations.key_of(key)
        if not 0 < len(name) <= _MAX_NAME or not name.isprintable():
            message = f"{quoted(name)} is no name; use 1 to {_MAX_NAME} printable characters"
            raise RequestError(message, code="name_invalid")
        allowed = tuple(sorted({_checked(kind) for kind in kinds}))

        def unit(tx: Tx) -> EvidenceIssuer:
            issuer = EvidenceIssuer(key_id=key_id, name=name, public=public, kinds=allowed, created_at=tx.now)
            taken = any(each.name == name and each.revoked_at is None for each in tx.evidence.issuers())
            if taken or not tx.evidence.add_issuer(issuer):
                message = f"an issuer with the name {quoted(name)} or with this key is registered already"
                raise RequestError(message, code="name_taken")
            tx.append(_issuer_entry("evidence_issuer_added", issuer, actor, evidence_kinds=list(allowed)))
            return issuer

        return self._store.transact_sync(unit)

    def issuers(self) -> Sequence[EvidenceIssuer]:
        """Return every issuer, revoked ones too, by creation."""
        return self._store.read_sync(lambda reader: reader.evidence.issuers())

    def revoke_issuer(self, name: str, *, actor: str) -> EvidenceIssuer:
        """Let nothing count any more that an issuer has signed.

        Args:
            name: its name or its key id.
            actor: the user of this host, for the ledger.

        Raises:
            RequestError: `not_found`.
            UnavailableError: it could not be recorded.
        """

        def unit(tx: Tx) -> EvidenceIssuer:
            live = [
                each for each in tx.evidence.issuers() if each.revoked_at is None and name in {each.name, each.key_id}
            ]
            if not live or not tx.evidence.revoke_issuer(live[0].key_id, tx.now):
                message = f"no issuer {quoted(name)} is registered; `negotiator evidence issuer list` shows them"
                raise RequestError(message, code="not_found")
            tx.append(_issuer_entry("evidence_issuer_revoked", live[0], actor))
            return next(each for each in tx.evidence.issuers() if each.key_id == live[0].key_id)

        return self._store.transact_sync(unit)

    def add(
        self, content: bytes, *, media_type: str, kind: str, about: str, attestation: str = "", actor: str
    ) -> Handed:
        """Hand in evidence for an agent.

        Args:
            content: the bytes.
            media_type: what they are, as the operator says.
            kind: what it is evidence of.
            about: the agent's name.
            attestation: a detached JWS of a registered issuer; empty where there is none.
            actor: the user of this host.

        Raises:
            RequestError: `evidence_kind_invalid`, `evidence_never_self`, `attestation_invalid`, `not_found`,
                `body_too_large`.
            UnavailableError: it could not be recorded.
        """
        if len(content) > self._terms.max_bytes:
            message = f"the evidence has {len(content)} bytes; at most {self._terms.max_bytes} are kept"
            raise RequestError(message, code="body_too_large")
        subject, issuer_id = self._subject(about), ""
        if attestation:
            issuer = attested_by(
                self._attestations, self.issuers(), content, attestation, kind=_checked(kind), about=subject
            )
            issuer_id = issuer.key_id
        elif _checked(kind) in NEVER_SELF:
            message = f"{kind} is somebody's word; hand it in with the signature of a registered issuer"
            raise RequestError(message, code="evidence_never_self")
        origin: Literal["attested", "self"] = "attested" if issuer_id else "self"
        return self._add(
            content, media_type, kind=kind, subject=subject, origin=origin, issuer_id=issuer_id, actor=actor
        )

    def add_parity(self, record: bytes, *, about: str, actor: str) -> Handed:
        """Keep a parity record that was made on this host.

        Args:
            record: the record, as JSON.
            about: the name of the agent that it counts for; empty keeps it for the operator alone.
            actor: the user of this host.

        Raises:
            RequestError: `not_found`.
            UnavailableError: it could not be recorded.
        """
        subject = self._subject(about) if about else f"project:{self._project}"
        return self._add(
            record, "application/json", kind="ui_parity", subject=subject, origin="system", issuer_id="", actor=actor
        )

    def links(self, about: str = "") -> Sequence[EvidenceLink]:
        """Return what there is, newest first, at most 1,000; of one agent where `about` names it."""
        links = self._store.read_sync(lambda reader: reader.evidence.all_links())
        subject = self._subject(about) if about else ""
        return [link for link in links if not subject or link.subject == subject]

    def show(self, wanted: str) -> StoredEvidence:
        """Return content and links of the evidence with this id.

        Raises:
            RequestError: `not_found`.
        """
        found = self._store.read_sync(lambda reader: reader.evidence.get(wanted))
        if found is None:
            message = f"there is no evidence {quoted(wanted)}; `negotiator evidence list` shows what there is"
            raise RequestError(message, code="not_found")
        links = [link for link in self.links() if link.evidence_id == wanted]
        return StoredEvidence(evidence=found, links=links)

    def _add(
        self,
        content: bytes,
        media_type: str,
        *,
        kind: str,
        subject: str,
        origin: Literal["system", "attested", "self"],
        issuer_id: str,
        actor: str,
    ) -> Handed:
        evidence = Evidence.of(content, media_type, self._clock.now())
        link = EvidenceLink(
            evidence_id=evidence_id(content),
            subject=subject,
            kind=kind,
            origin=origin,
            issuer_id=issuer_id,
            uploader=f"host:{actor}"[:256],
            created_at=evidence.created_at,
        )
        members: dict[str, EntryValue] = {"actor": {"type": "Host", "id": actor}}
        return self._store.transact_sync(lambda tx: add_evidence(tx, evidence, link, terms=None, members=members))

    def _subject(self, name: str) -> str:
        agent = self._store.read_sync(lambda reader: reader.agents.named(name))
        if agent is None:
            message = f"no agent named {quoted(name)} is registered; `negotiator agent list` shows them"
            raise RequestError(message, code="not_found")
        return agent.subject


def _checked(kind: str) -> str:
    if kind not in EVIDENCE_KINDS:
        message = f"{quoted(kind)} is no kind of evidence; there is {', '.join(EVIDENCE_KINDS)}"
        raise RequestError(message, code="evidence_kind_invalid")
    return kind


def _issuer_entry(code: str, issuer: EvidenceIssuer, actor: str, **members: EntryValue) -> EntryDraft:
    own: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "actor": {"type": "Host", "id": actor},
        "issuer_id": issuer.key_id,
        "name": issuer.name,
    }
    return EntryDraft(kind=EntryKind.ADMIN, members=own | members)
