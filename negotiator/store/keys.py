"""Ed25519 keys, the tokens that they sign, and the pepper.

Rules:

- What a token may be is fixed here, not by the token: its `kid` names one of our keys, and its header is compared byte
  for byte with the only one that this key writes. There is no choice of algorithm to attack.
- A token has one spelling; the same claims give the same token.
- Verification raises `credentials_invalid` for whatever else it is given, and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from jwt.utils import base64url_decode, base64url_encode

from negotiator.canonical import canonical_bytes, decode_json
from negotiator.errors import ConfigError, NegotiatorError, RequestError, quoted
from negotiator.model.keys import KeyPurpose
from negotiator.store.keyfiles import load_key_files, load_or_make_key_file

__all__ = [
    "MAX_TOKEN_CHARACTERS",
    "TOKEN_TYPE",
    "FileSigner",
    "PepperVerifiers",
    "key_id_of",
    "new_key",
    "verified_claims",
]

TOKEN_TYPE: Final = "uaix-negotiation+jwt"  # noqa: S105 - a media type
MAX_TOKEN_CHARACTERS: Final = 8_192

_TYPES: Mapping[KeyPurpose, str] = MappingProxyType(
    {
        "token": TOKEN_TYPE,
        "receipt": "uaix-receipt+jwt",
        "checkpoint": "uaix-checkpoint+jwt",
        "webhook": "uaix-webhook+jwt",
    }
)
_MAX_HEADER_CHARACTERS = 512
_ALGORITHM = "EdDSA"
_PEPPER_BYTES = 32
_CLAIM_TYPES: Mapping[str, type] = MappingProxyType(
    {"iss": str, "aud": str, "sub": str, "jti": str, "exp": int, "iat": int, "nbf": int, "cnf": dict}
)


class FileSigner:
    """One Ed25519 key (`Signer`).

    Source: RFC 7515, RFC 8037, RFC 7638.
    """

    @classmethod
    def from_pem(cls, content: bytes, path: Path) -> FileSigner:
        """Return the signer with the key in `content`, which was read from `path`.

        Raises:
            ConfigError: `key_file_unreadable`, naming the path.
        """
        try:
            key = serialization.load_pem_private_key(content, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            message = f"{quoted(path)} holds no Ed25519 key in PKCS#8 PEM; restore it, or move it away to get a new one"
            raise ConfigError(message, code="key_file_unreadable")
        return cls(key)

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._public = base64url_encode(key.public_key().public_bytes_raw()).decode()
        thumbprinted = canonical_bytes({"crv": "Ed25519", "kty": "OKP", "x": self._public})
        self._key_id = base64url_encode(hashlib.sha256(thumbprinted).digest()).decode()

    @property
    def key_id(self) -> str:
        """The key's RFC 7638 thumbprint."""
        return self._key_id

    @property
    def public(self) -> str:
        """The public half, base64url without padding."""
        return self._public

    def sign(self, claims: Mapping[str, Any], *, purpose: KeyPurpose = "token") -> str:
        """Return the compact JWS of `claims`; the same claims give the same bytes, in whatever order they are."""
        return jwt.api_jws.encode(
            canonical_bytes(claims),
            self._key,
            algorithm=_ALGORITHM,
            headers={"typ": _TYPES[purpose], "kid": self._key_id},
        )


def new_key() -> bytes:
    """Return a new Ed25519 key in PKCS#8 PEM."""
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def verified_claims(token: str, public: Callable[[str], str | None]) -> Mapping[str, Any]:
    """Return the claims of a token of ours; `exp` is not looked at.

    Args:
        token: as it was presented.
        public: `kid` to the public half of a key whose signatures hold; None for any other.

    Raises:
        RequestError: `credentials_invalid`, for anything else. No other exception escapes.
    """
    try:
        claims = decode_json(_payload(token, public))
    except (jwt.PyJWTError, NegotiatorError, ValueError):
        claims = None
    if not isinstance(claims, dict) or not _well_typed(claims):
        message = "the negotiation token is not one of ours; declare again"
        raise RequestError(message, code="credentials_invalid")
    return claims


def key_id_of(token: str) -> str:
    """Return the `kid` that a token names, unchecked; empty where it names none."""
    try:
        header = decode_json(base64url_decode(token[:_MAX_HEADER_CHARACTERS].partition(".")[0]))
    except (NegotiatorError, ValueError):
        return ""
    key_id = header.get("kid") if isinstance(header, dict) else None
    return key_id if isinstance(key_id, str) else ""


def _payload(token: str, public: Callable[[str], str | None]) -> bytes:
    """Return the signed bytes.

    Raises:
        ValueError, PyJWTError: it is no token of these keys.
    """
    if len(token) > MAX_TOKEN_CHARACTERS or not token.isascii():
        raise ValueError(token)
    key_id = key_id_of(token)
    x = public(key_id)
    header, _, rest = token.partition(".")
    if x is None or header != _header(key_id) or not all(_is_canonical_base64url(part) for part in rest.split(".")):
        raise ValueError(token)
    key = Ed25519PublicKey.from_public_bytes(base64url_decode(x))
    payload: bytes = jwt.api_jws.decode(token, key, algorithms=[_ALGORITHM])
    return payload


def _header(key_id: str) -> str:
    """Return the only header that a token of that key has."""
    return base64url_encode(canonical_bytes({"alg": _ALGORITHM, "kid": key_id, "typ": TOKEN_TYPE})).decode()


class PepperVerifiers:
    """Keyed hashes of credentials' secrets (`Verifiers`)."""

    @classmethod
    def open(cls, directory: Path, *, database_directory: Path | None) -> PepperVerifiers:
        """Return the verifiers with the pepper in `directory`/pepper.key, which is made if it is not there.

        Raises:
            ConfigError: `key_file_unsafe` or `key_file_unreadable`, naming the path.
        """
        content = load_or_make_key_file(
            directory, "pepper.key", database_directory=database_directory, new_content=_new_pepper
        )
        return cls(_pepper(content, directory / "pepper.key"), directory, database_directory)

    def __init__(self, pepper: bytes, directory: Path, database_directory: Path | None) -> None:
        self._pepper = pepper
        self._directory = directory
        self._database_directory = database_directory

    def check(self) -> None:
        """Look whether the next start would find the same pepper.

        Raises:
            ConfigError: `key_file_missing`, `key_file_unsafe`, `key_file_unreadable`.
        """
        path = self._directory / "pepper.key"
        found = load_key_files(self._directory, path.name, database_directory=self._database_directory)
        if path.name not in found or _pepper(found[path.name], path) != self._pepper:
            message = (
                f"{quoted(path)} is gone or is another one, and without the first one no API token opens anything; "
                "restore it before the next start"
            )
            raise ConfigError(message, code="key_file_missing")

    def verifier(self, secret: str) -> str:
        """Return the lower-case hex HMAC-SHA-256 of `secret` under the pepper."""
        return hmac.new(self._pepper, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def matches(self, secret: str, verifier: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(self.verifier(secret).encode(), verifier.encode("utf-8", "surrogatepass"))

    def derived(self, purpose: str) -> bytes:
        """Return 32 bytes for another purpose, which tell nothing about the pepper (RFC 5869)."""
        return HKDF(hashes.SHA256(), 32, salt=None, info=f"negotiator {purpose}".encode()).derive(self._pepper)


def _is_canonical_base64url(part: str) -> bool:
    """Whether `part` is the one way to write its bytes: a token has one spelling."""
    return base64url_encode(base64url_decode(part)).decode() == part


def _well_typed(claims: Mapping[str, Any]) -> bool:
    return all(name not in claims or type(claims[name]) is wanted for name, wanted in _CLAIM_TYPES.items())


def _new_pepper() -> bytes:
    return f"{secrets.token_hex(_PEPPER_BYTES)}\n".encode()


def _pepper(content: bytes, path: Path) -> bytes:
    try:
        pepper = bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        pepper = b""
    if len(pepper) != _PEPPER_BYTES:
        message = f"{quoted(path)} holds no pepper of {_PEPPER_BYTES} hex bytes; restore it"
        raise ConfigError(message, code="key_file_unreadable")
    return pepper
