"""Second factors: one-time codes (RFC 6238) and security keys (W3C Web Authentication, level 3).

- A code is of six digits and thirty seconds; the neighbours of the present step are taken, too.
- A security key has to have verified its user (a PIN or a fingerprint): a touch alone is not a person.
- Verification raises `factor_failed` for whatever else it is given, and nothing else.

Functions of what they are given. What is fresh, and what was used already, is for `sessions` to claim.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NoReturn

import pyotp
import webauthn
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from negotiator.canonical import decode_json
from negotiator.errors import NegotiatorError, RequestError
from negotiator.model.people import Factor, FactorKind, Person
from negotiator.ports import Ids

__all__ = [
    "MAX_ANSWER_CHARACTERS",
    "RelyingParty",
    "VerifiedKey",
    "answered_challenge",
    "answering_factor",
    "assertion_options",
    "matching_step",
    "new_totp_secret",
    "registration_options",
    "seal_place",
    "totp_url",
    "verified_assertion",
    "verified_registration",
]

MAX_ANSWER_CHARACTERS: Final = 65_536
"""The longest answer of a browser that is looked at."""

_STEP_SECONDS: Final = 30
_SECRET_BYTES: Final = 20
_CODE: Final = re.compile(r"[0-9]{6}")
_MAX_CREDENTIAL_BYTES: Final = 1_023


@dataclass(frozen=True, slots=True, kw_only=True)
class RelyingParty:
    """For which website keys sign.

    Attributes:
        id: the host of the console, e.g. `console.example.org`, or `localhost`; never an IP address.
        origin: the console's origin, e.g. `https://console.example.org`.
        name: shown by the browser.
    """

    id: str
    origin: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedKey:
    """What a security key's answer proved.

    Attributes:
        credential_id: base64url without padding.
        public_key: COSE, base64url without padding.
        counter: its signature counter; 0 for keys that do not count.
    """

    credential_id: str
    public_key: str
    counter: int


def seal_place(project: str, user_id: str, factor_id: str) -> str:
    """Return the place at which the secret of a factor opens."""
    return f"totp {project} {user_id} {factor_id}"


def new_totp_secret(ids: Ids) -> str:
    """Return 160 random bits in base32 (RFC 4226 section 4)."""
    return base64.b32encode(hashlib.sha256(ids.secret().encode()).digest()[:_SECRET_BYTES]).decode()


def totp_url(secret: str, *, name: str, issuer: str) -> str:
    """Return the `otpauth:` URL that authenticator apps read, from a QR code or as text."""
    return pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=issuer)


def matching_step(secret: str, code: str, *, now: datetime, after: int) -> int | None:
    """Return the time step that `code` belongs to, if it is the present one or a neighbour, and later than `after`.

    Every candidate is compared, each in constant time.
    """
    digits = code.replace(" ", "")
    if not _CODE.fullmatch(digits):
        return None
    present = int(now.timestamp()) // _STEP_SECONDS
    totp, found = pyotp.TOTP(secret), None
    for step in (present - 1, present, present + 1):
        if hmac.compare_digest(totp.generate_otp(step), digits) and step > after:
            found = step
    return found


def registration_options(
    person: Person, factors: Iterable[Factor], *, party: RelyingParty, challenge: bytes
) -> dict[str, Any]:
    """Return the JSON for `navigator.credentials.create`; keys that the account has are left out."""
    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name=party.name,
        user_name=person.name,
        user_id=hashlib.sha256(person.user_id.encode()).digest(),
        challenge=challenge,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.DISCOURAGED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=_descriptors(factors),
    )
    return _plain(webauthn.options_to_json(options))


def assertion_options(factors: Iterable[Factor], *, party: RelyingParty, challenge: bytes) -> dict[str, Any]:
    """Return the JSON for `navigator.credentials.get`, for the keys among `factors`."""
    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        allow_credentials=_descriptors(factors),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return _plain(webauthn.options_to_json(options))


def answered_challenge(answer: str) -> bytes:
    """Return the challenge that a browser's answer says it answers; nothing is verified yet.

    Args:
        answer: the JSON of a `PublicKeyCredential`, as its `toJSON` gives it.

    Raises:
        RequestError: `factor_failed`.
    """
    try:
        client_data = decode_json(_octets(_answer(answer)["response"]["clientDataJSON"]))
        return _octets(client_data["challenge"])  # type: ignore[index,call-overload]
    except (NegotiatorError, LookupError, TypeError, ValueError):
        _fail()


def answering_factor(answer: str, factors: Iterable[Factor]) -> Factor:
    """Return the key among `factors` that an answer says it comes from.

    Raises:
        RequestError: `factor_failed`.
    """
    wanted = _answer(answer).get("id")
    keys = [each for each in factors if each.kind is FactorKind.WEBAUTHN and each.credential_id == wanted]
    return keys[0] if keys else _fail()


def verified_registration(answer: str, *, party: RelyingParty, challenge: bytes) -> VerifiedKey:
    """Return the key that was made.

    Raises:
        RequestError: `factor_failed`, for anything that is not a new key's answer to `challenge`.
    """
    document = _answer(answer)
    try:
        found = webauthn.verify_registration_response(
            credential=document,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception:  # noqa: BLE001 - whatever a parser makes of foreign bytes is a failure of the factor
        _fail()
    if not 0 < len(found.credential_id) <= _MAX_CREDENTIAL_BYTES:
        _fail()
    return VerifiedKey(
        credential_id=_text(found.credential_id),
        public_key=_text(found.credential_public_key),
        counter=found.sign_count,
    )


def verified_assertion(answer: str, factor: Factor, *, party: RelyingParty, challenge: bytes) -> VerifiedKey:
    """Return the key of `factor` with its new counter.

    Raises:
        RequestError: `factor_failed`, for anything that is not this key's answer to `challenge`.
    """
    document = _answer(answer)
    try:
        found = webauthn.verify_authentication_response(
            credential=document,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=_octets(factor.secret),
            credential_current_sign_count=factor.counter,
            require_user_verification=True,
        )
    except Exception:  # noqa: BLE001 - as above
        _fail()
    if _text(found.credential_id) != factor.credential_id:
        _fail()
    return VerifiedKey(credential_id=factor.credential_id, public_key=factor.secret, counter=found.new_sign_count)


def _answer(answer: str) -> dict[str, Any]:
    try:
        document = decode_json(answer.encode()) if len(answer) <= MAX_ANSWER_CHARACTERS else None
    except (NegotiatorError, UnicodeEncodeError):
        document = None
    if not isinstance(document, dict):
        _fail()
    return document


def _descriptors(factors: Iterable[Factor]) -> list[PublicKeyCredentialDescriptor]:
    return [
        PublicKeyCredentialDescriptor(id=_octets(factor.credential_id))
        for factor in factors
        if factor.kind is FactorKind.WEBAUTHN
    ]


def _plain(options: str) -> dict[str, Any]:
    document = decode_json(options.encode())
    assert isinstance(document, dict)  # noqa: S101 - the library's own JSON of an object
    return document


def _octets(text: Any) -> bytes:  # noqa: ANN401 - a member of foreign JSON
    """Return the bytes of base64url text without padding.

    Raises:
        ValueError, TypeError: it is something else.
    """
    if not isinstance(text, str):
        raise TypeError(text)
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _text(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def _fail() -> NoReturn:
    message = "the second factor was not accepted; try again"
    raise RequestError(message, code="factor_failed")
