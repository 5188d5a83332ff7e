"""Secrets that have to be read again, sealed with AES-256-GCM under a key outside the database: `Sealer`.

- The key is derived from the pepper (HKDF-SHA-256), so that a copy of the database alone opens nothing, and hosts that
  share the pepper open what any of them has sealed.
- What was sealed for one place opens at no other: rows cannot be swapped.

A sealed text is `v1.` and the base64url form of nonce and ciphertext, without padding.
"""

from __future__ import annotations

import binascii
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from jwt.utils import base64url_decode, base64url_encode

from negotiator.errors import IntegrityError

__all__ = ["AesSealer"]

_VERSION: Final = b"v1"
_NONCE_BYTES: Final = 12


class AesSealer:
    """Seals with one key (`Sealer`).

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, secret: str, *, place: str) -> str:
        """Return the sealed form of `secret`, which opens at `place` only."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, secret.encode(), place.encode())
        return b".".join((_VERSION, base64url_encode(sealed))).decode()

    def open(self, sealed: str, *, place: str) -> str:
        """Return the secret.

        Raises:
            IntegrityError: `secret_unreadable`, for anything that was not sealed here for that place.
        """
        try:
            version, _, text = sealed.encode("ascii").partition(b".")
            content = base64url_decode(text if version == _VERSION else b"")
            return self._cipher.decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error):
            message = "a sealed secret does not open; restore the pepper.key that belongs to the database"
            raise IntegrityError(message, code="secret_unreadable") from None
