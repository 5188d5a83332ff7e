"""Signing keys: what each is for, and how far its life has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

__all__ = ["KEY_PURPOSES", "KeyPurpose", "KeyState", "SigningKey"]

KeyPurpose: TypeAlias = Literal["token", "receipt", "checkpoint", "webhook"]
KeyState: TypeAlias = Literal["signing", "verifying", "retired"]

KEY_PURPOSES: Final[Mapping[KeyPurpose, str]] = MappingProxyType(
    {
        "token": "negotiation tokens",
        "receipt": "receipts of approvals",
        "checkpoint": "checkpoints of the ledger",
        "webhook": "calls to webhooks",
    }
)
"""What a key of each purpose signs; it signs nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """The public half of an Ed25519 key and its dates.

    Attributes:
        key_id: its RFC 7638 thumbprint, `kid` of what it signs.
        public: the 32 bytes of the public half, base64url without padding (`x` of RFC 8037).
        rotated_at: since then another key signs; what this one has signed still holds.
        retired_at: since then nothing that it has signed holds.
    """

    key_id: str
    purpose: KeyPurpose
    public: str
    created_at: datetime
    rotated_at: datetime | None = None
    retired_at: datetime | None = None

    @property
    def state(self) -> KeyState:
        """`signing`, until it is rotated; then `verifying`, until it is retired."""
        if self.retired_at is not None:
            return "retired"
        return "signing" if self.rotated_at is None else "verifying"

    def as_jwk(self) -> dict[str, str]:
        """Return its JSON Web Key (RFC 7517), with our member `purpose`."""
        return {
            "crv": "Ed25519",
            "kty": "OKP",
            "x": self.public,
            "alg": "EdDSA",
            "kid": self.key_id,
            "use": "sig",
            "purpose": self.purpose,
        }
