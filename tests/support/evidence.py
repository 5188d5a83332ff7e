"""Issuers of made-up evidence: a key each, and what they sign."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.utils import base64url_encode

from negotiator.canonical import canonical_bytes
from negotiator.model.evidence import Attestation
from negotiator.store import JwsAttestations
from negotiator.store.attestations import attestation_header

__all__ = ["Issuer", "message"]


@dataclass
class Issuer:
    """Somebody whose word may count."""

    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public(self) -> str:
        return base64url_encode(self.key.public_key().public_bytes_raw()).decode()

    @property
    def key_id(self) -> str:
        return JwsAttestations().key_of(self.public)[0]

    def attests(self, content: bytes, *, kind: str, about: str) -> str:
        """Return an honest attestation."""
        header = attestation_header(Attestation(key_id=self.key_id, kind=kind, about=about))
        return self.signs(header, content)

    def signs(self, header: str, content: bytes) -> str:
        """Return a detached JWS with that encoded header."""
        signed = header.encode() + b"." + base64url_encode(content)
        return f"{header}..{base64url_encode(self.key.sign(signed)).decode()}"

    def signs_members(self, content: bytes, **members: Any) -> str:
        """Return a detached JWS with whatever members in its header."""
        return self.signs(base64url_encode(canonical_bytes(members)).decode(), content)


def message(profile: str, body: dict[str, Any], **members: Any) -> bytes:
    """Return a keyed message."""
    return orjson.dumps({"uai_version": "1.0", "profile": profile, "message_id": "m-1", "body": body, **members})
