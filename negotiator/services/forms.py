"""What ties a form or a security key's signature to one session and one object.

- A form token is for one session and one object; with the session it ends.
- A challenge carries its time, a nonce and the digest of what is signed for, under a code that only this session's
  secret makes. A session's secret ends with each step-up, so that a challenge leads to one step-up at most.

Functions of what they are given; comparisons take constant time.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime
from typing import Final, Literal, TypeAlias

from negotiator.errors import RequestError
from negotiator.model.people import CLOCK_SKEW_SECONDS, Session

__all__ = ["CHALLENGE_SECONDS", "NOTHING", "Purpose", "check_challenge", "form_token", "is_form_token", "new_challenge"]

Purpose: TypeAlias = Literal["register", "assert"]

CHALLENGE_SECONDS: Final = 300
"""How long a challenge may be answered."""

NOTHING: Final = "0" * 64
"""The digest in a challenge for no object in particular."""

_TIME_BYTES: Final = 8
_NONCE_BYTES: Final = 16
_DIGEST_BYTES: Final = 32


def form_token(session: Session, object_id: str) -> str:
    """Return the token for a form about `object_id` in this session, 64 hex digits."""
    return _code(session, "form", object_id.encode("utf-8", "surrogatepass")).hex()


def is_form_token(session: Session, object_id: str, token: str) -> bool:
    """Whether `token` came from a form about that object in this session."""
    return hmac.compare_digest(form_token(session, object_id).encode(), token.encode("utf-8", "surrogatepass"))


def new_challenge(session: Session, purpose: Purpose, *, object_sha256: str, now: datetime, nonce: str) -> bytes:
    """Return what a security key is to sign: time (8 bytes), nonce (16), digest (32) and code (32).

    Args:
        session: whose person is to sign.
        purpose: `register` a key, or `assert` with one.
        object_sha256: what is approved by the signature, in hex; `NOTHING` for a mere step-up.
        now: the time.
        nonce: fresh randomness; its digest is taken.
    """
    salt = hashlib.sha256(nonce.encode()).digest()[:_NONCE_BYTES]
    content = int(now.timestamp()).to_bytes(_TIME_BYTES, "big") + salt + bytes.fromhex(object_sha256)
    return content + _code(session, purpose, content)


def check_challenge(
    challenge: bytes, session: Session, purpose: Purpose, *, object_sha256: str, now: datetime
) -> bytes:
    """Return `challenge` if it was made for this session, purpose and object, lately.

    Raises:
        RequestError: `factor_failed`.
    """
    content, code = challenge[:-_DIGEST_BYTES], challenge[-_DIGEST_BYTES:]
    ours = hmac.compare_digest(code, _code(session, purpose, content))
    age = int(now.timestamp()) - int.from_bytes(content[:_TIME_BYTES], "big")
    if (
        not ours
        or content[-_DIGEST_BYTES:] != bytes.fromhex(object_sha256)
        or not -CLOCK_SKEW_SECONDS <= age < CHALLENGE_SECONDS
    ):
        message = "this was signed for something else, or too late; try again"
        raise RequestError(message, code="factor_failed")
    return challenge


def _code(session: Session, word: str, content: bytes) -> bytes:
    return hmac.new(session.csrf_secret.encode(), word.encode() + b"\x00" + content, hashlib.sha256).digest()
