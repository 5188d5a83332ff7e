"""The token key and the pepper: `Signer` and `Verifiers` over key files.

Rules:

- What a token may be is fixed here, not by the token: its header is compared byte for byte with the only one that
  this key writes. There is no choice of algorithm to attack.
- A token has one spelling; the same claims give the same token.
- Verification raises `credentials_invalid` for whatever else it is given, and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.utils import base64url_decode, base64url_encode

from negotiator.canonical import canonical_bytes, decode_json
from negotiator.errors import ConfigError, NegotiatorError, RequestError, quoted
from negotiator.store.keyfiles import load_or_make_key_file

__all__ = ["MAX_TOKEN_CHARACTERS", "TOKEN_TYPE", "FileSigner", "PepperVerifiers"]

TOKEN_TYPE: Final = "uaix-negotiation+jwt"  # noqa: S105 - a media type
MAX_TOKEN_CHARACTERS: Final = 8_192

_ALGORITHM = "EdDSA"
_PEPPER_BYTES = 32
_CLAIM_TYPES: Mapping[str, type] = MappingProxyType(
    {"iss": str, "aud": str, "sub": str, "jti": str, "exp": int, "iat": int, "nbf": int, "cnf": dict}
)


class FileSigner:
    """Signs and verifies negotiation tokens with one Ed25519 key (`Signer`).

    Source: RFC 7515, RFC 8037, RFC 7638.
    """

    @classmethod
    def open(cls, directory: Path, *, database_directory: Path | None) -> FileSigner:
        """Return the signer with the key in `directory`/token.key, which is made if it is not there.

        Raises:
            ConfigError: `key_file_unsafe` or `key_file_unreadable`, naming the path.
        """
        content = load_or_make_key_file(
            directory, "token.key", database_directory=database_directory, new_content=_new_token_key
        )
        return cls(_token_key(content, directory / "token.key"))

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._public = key.public_key()
        raw = self._public.public_bytes_raw()
        self._jwk = {"crv": "Ed25519", "kty": "OKP", "x": base64url_encode(raw).decode()}
        self._key_id = base64url_encode(hashlib.sha256(canonical_bytes(self._jwk)).digest()).decode()
        self._header = self.sign({}).partition(".")[0]

    @property
    def key_id(self) -> str:
        """The key's RFC 7638 thumbprint."""
        return self._key_id

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return the compact JWS of `claims`; the same claims give the same bytes, in whatever order they are."""
        return jwt.api_jws.encode(
            canonical_bytes(claims),
            self._key,
            algorithm=_ALGORITHM,
            headers={"typ": TOKEN_TYPE, "kid": self._key_id},
        )

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token of ours; `exp` is not looked at.

        Raises:
            RequestError: `credentials_invalid`, for anything else. No other exception escapes.
        """
        try:
            claims = decode_json(self._payload(token))
        except (jwt.PyJWTError, NegotiatorError, ValueError):
            claims = None
        if not isinstance(claims, dict) or not _well_typed(claims):
            message = "the negotiation token is not one of ours; declare again"
            raise RequestError(message, code="credentials_invalid")
        return claims

    def _payload(self, token: str) -> bytes:
        """Return the signed bytes.

        Raises:
            ValueError, PyJWTError: it is no token of this key.
        """
        if len(token) > MAX_TOKEN_CHARACTERS or not token.isascii():
            raise ValueError(token)
        header, _, rest = token.partition(".")
        if header != self._header or not all(_is_canonical_base64url(part) for part in rest.split(".")):
            raise ValueError(token)
        payload: bytes = jwt.api_jws.decode(token, self._public, algorithms=[_ALGORITHM])
        return payload

    def public_keys(self) -> Mapping[str, Any]:
        """Return the JWKS document of the public half (RFC 7517)."""
        return {"keys": [{**self._jwk, "alg": _ALGORITHM, "kid": self._key_id, "use": "sig"}]}


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
        return cls(_pepper(content, directory / "pepper.key"))

    def __init__(self, pepper: bytes) -> None:
        self._pepper = pepper

    def verifier(self, secret: str) -> str:
        """Return the lower-case hex HMAC-SHA-256 of `secret` under the pepper."""
        return hmac.new(self._pepper, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def matches(self, secret: str, verifier: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(self.verifier(secret).encode(), verifier.encode("utf-8", "surrogatepass"))


def _is_canonical_base64url(part: str) -> bool:
    """Whether `part` is the one way to write its bytes: a token has one spelling."""
    return base64url_encode(base64url_decode(part)).decode() == part


def _well_typed(claims: Mapping[str, Any]) -> bool:
    return all(name not in claims or type(claims[name]) is wanted for name, wanted in _CLAIM_TYPES.items())


def _new_token_key() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _token_key(content: bytes, path: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        message = f"{quoted(path)} holds no Ed25519 key in PKCS#8 PEM; restore it, or move it away to get a new one"
        raise ConfigError(message, code="key_file_unreadable")
    return key


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
