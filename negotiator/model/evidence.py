"""Evidence: what somebody handed in, for whom it counts, and who vouches for it.

- Content is named by its digest. A link says for whom it is of use, as what, and whose word stands behind it.
- What others have to say about an agent does not count when the agent says it itself (`NEVER_SELF`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from negotiator.canonical import sha256_hex
from negotiator.model.times import format_time

__all__ = [
    "ATTESTATION_TYPE",
    "EVIDENCE_ID",
    "NEVER_SELF",
    "Attestation",
    "Evidence",
    "EvidenceIssuer",
    "EvidenceLink",
    "EvidenceOrigin",
    "evidence_id",
    "strongest",
]

EvidenceOrigin: TypeAlias = Literal["system", "attested", "self"]

NEVER_SELF: Final = frozenset({"consent_record", "memory_review", "validator_output"})
"""Kinds that are somebody else's word, and worth nothing as the agent's own."""

EVIDENCE_ID: Final = re.compile(r"sha256:[0-9a-f]{64}")
"""What an evidence id looks like."""

ATTESTATION_TYPE: Final = "uaix-evidence+jws"
"""`typ` of an attestation: nothing that was signed for another purpose is one."""

_STRENGTH: Final[Mapping[EvidenceOrigin, int]] = {"self": 0, "attested": 1, "system": 2}


def evidence_id(content: bytes) -> str:
    """Return the id of evidence with these bytes."""
    return f"sha256:{sha256_hex(content)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Content, without a word on what it is evidence of.

    Attributes:
        evidence_id: `sha256:` and the lower-case hex digest of `content`.
        media_type: as it was sent; never trusted, and nothing is rendered by it.
        size: bytes of `content`.
    """

    evidence_id: str
    media_type: str
    size: int
    content: bytes = field(repr=False)
    created_at: datetime

    @classmethod
    def of(cls, content: bytes, media_type: str, at: datetime) -> Evidence:
        """Return evidence with these bytes."""
        return cls(
            evidence_id=evidence_id(content), media_type=media_type, size=len(content), content=content, created_at=at
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLink:
    """For whom evidence counts, and as what.

    Attributes:
        subject: the agent that may name it: its uploader, or whom it is about.
        issuer_id: key id of the issuer that signed it; empty unless `attested`.
        uploader: who handed it in: a subject, `host:<user>`, or `system`.
    """

    evidence_id: str
    subject: str
    kind: str
    origin: EvidenceOrigin
    issuer_id: str
    uploader: str
    created_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Return the members of an answer."""
        return {
            "id": self.evidence_id,
            "kind": self.kind,
            "origin": self.origin,
            "about": self.subject,
            "created_at": format_time(self.created_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceIssuer:
    """A party whose signature an operator takes as its word.

    Attributes:
        key_id: RFC 7638 thumbprint of its key.
        public: the 32 bytes of the key, base64url without padding (`x` of RFC 8037).
        kinds: what it may attest.
    """

    key_id: str
    name: str
    public: str
    kinds: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation:
    """What an issuer has signed beside the content itself.

    Attributes:
        key_id: of the issuer.
        kind: as what the content counts.
        about: the subject that it is about, e.g. `agent:<id>`; it counts for nobody else.
    """

    key_id: str
    kind: str
    about: str


def strongest(links: Iterable[EvidenceLink]) -> dict[str, EvidenceLink]:
    """Return for each kind the link with the strongest origin; of equals, the first."""
    best: dict[str, EvidenceLink] = {}
    for link in links:
        known = best.get(link.kind)
        if known is None or _STRENGTH[link.origin] > _STRENGTH[known.origin]:
            best[link.kind] = link
    return best
