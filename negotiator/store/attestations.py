"""Attestations: detached Ed25519 signatures of others over evidence (`Attestations`).

Rules:

- The JWS is `<header>..<signature>`; its payload is the evidence itself (RFC 7515 appendix F).
- The header is compared byte for byte with the only one that may be signed: the canonical JSON of `alg`, `kid`,
  `kind`, `sub` and `typ`. What is signed is thus the content, as what it counts, and whom it is about; a signature
  that was made for something else is none.
- The key is that of a registered issuer. Nothing that the header could name is fetched.
- Whatever else is presented is `attestation_invalid`, and nothing else is raised.

Source: RFC 7515, RFC 8037.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from jwt.utils import base64url_decode, base64url_encode

from negotiator.canonical import canonical_bytes, decode_json
from negotiator.errors import NegotiatorError, RequestError
from negotiator.model.evidence import ATTESTATION_TYPE, Attestation

__all__ = ["MAX_ATTESTATION_CHARACTERS", "JwsAttestations", "attestation_header"]

MAX_ATTESTATION_CHARACTERS: Final = 2_048

_MEMBERS = ("alg", "kid", "kind", "sub", "typ")


class JwsAttestations:
    """Reads keys and verifies signatures (`Attestations`). Holds nothing."""

    def key_of(self, text: str) -> tuple[str, str]:
        """Return key id and public half of an Ed25519 key in PEM, as JWK, or base64url itself.

        Raises:
            RequestError: `issuer_invalid`.
        """
        try:
            raw = _raw_key(text.strip())
            Ed25519PublicKey.from_public_bytes(raw)
        except (ValueError, TypeError, UnsupportedAlgorithm, NegotiatorError):
            message = "this is no public Ed25519 key; give it in PEM, as a JWK, or as 43 characters of base64url"
            raise RequestError(message, code="issuer_invalid") from None
        public = base64url_encode(raw).decode()
        thumbprinted = canonical_bytes({"crv": "Ed25519", "kty": "OKP", "x": public})
        return base64url_encode(hashlib.sha256(thumbprinted).digest()).decode(), public

    def verified(self, jws: str, content: bytes, public: Callable[[str], str | None]) -> Attestation:
        """Return what a detached JWS over `content` says.

        Raises:
            RequestError: `attestation_invalid`. No other exception escapes.
        """
        try:
            return _verified(jws, content, public)
        except (ValueError, TypeError, InvalidSignature, NegotiatorError):
            message = "the attestation is no detached signature of a registered issuer over these bytes"
            raise RequestError(message, code="attestation_invalid") from None


def attestation_header(attestation: Attestation) -> str:
    """Return the only header, encoded, that an attestation of this has."""
    members = {
        "alg": "EdDSA",
        "kid": attestation.key_id,
        "kind": attestation.kind,
        "sub": attestation.about,
        "typ": ATTESTATION_TYPE,
    }
    return base64url_encode(canonical_bytes(members)).decode()


def _verified(jws: str, content: bytes, public: Callable[[str], str | None]) -> Attestation:
    """Verify in this order: shape, header, issuer, signature.

    Raises:
        ValueError, InvalidSignature: it does not hold.
    """
    if len(jws) > MAX_ATTESTATION_CHARACTERS or not jws.isascii():
        raise ValueError
    header, payload, signature = jws.split(".")
    members = _header_members(header)
    attestation = Attestation(key_id=members["kid"], kind=members["kind"], about=members["sub"])
    raw = base64url_decode(signature)
    if payload or header != attestation_header(attestation) or base64url_encode(raw).decode() != signature:
        raise ValueError
    x = public(attestation.key_id)
    if x is None:
        raise ValueError
    signed = f"{header}.".encode() + base64url_encode(content)
    Ed25519PublicKey.from_public_bytes(base64url_decode(x)).verify(raw, signed)
    return attestation


def _header_members(header: str) -> dict[str, str]:
    members: Any = decode_json(base64url_decode(header))
    if not isinstance(members, dict) or sorted(members) != list(_MEMBERS):
        raise ValueError
    if not all(isinstance(member, str) for member in members.values()):
        raise ValueError
    return members


def _raw_key(text: str) -> bytes:
    if text.startswith("-----BEGIN"):
        key = serialization.load_pem_public_key(text.encode())
        if not isinstance(key, Ed25519PublicKey):
            raise TypeError
        return key.public_bytes_raw()
    if text.startswith("{"):
        members: Any = decode_json(text.encode())
        if members.get("kty") != "OKP" or members.get("crv") != "Ed25519" or "d" in members:
            raise ValueError
        text = str(members.get("x"))
    return base64url_decode(text)
