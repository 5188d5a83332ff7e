"""A negotiation token is ours or it is refused; nothing in it chooses how it is checked."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from negotiator.errors import RequestError
from negotiator.model.keys import SigningKey
from negotiator.store.keys import MAX_TOKEN_CHARACTERS, TOKEN_TYPE, FileSigner, key_id_of, verified_claims
from tests.support.stores import START

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
SIGNER = FileSigner(KEY)
CLAIMS = {"iss": "http://localhost", "aud": "http://localhost", "sub": "agent:a1", "exp": 1_800_000_000, "jti": "n1"}


def part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(header: object, claims: object, key: Ed25519PrivateKey = KEY) -> str:
    text = f"{part(header)}.{part(claims)}"
    return f"{text}.{part(key.sign(text.encode()))}"


def header(**changes: object) -> dict[str, object]:
    return {"alg": "EdDSA", "kid": SIGNER.key_id, "typ": TOKEN_TYPE} | changes


def verify(token: str) -> object:
    return verified_claims(token, {SIGNER.key_id: SIGNER.public}.get)


def refused(token: str) -> None:
    with pytest.raises(RequestError) as caught:
        verify(token)
    assert caught.value.code == "credentials_invalid"
    assert token[:20] not in caught.value.message or not token


def test_what_was_signed_verifies_and_is_deterministic():
    token = SIGNER.sign(CLAIMS)
    assert verify(token) == CLAIMS
    assert SIGNER.sign(dict(reversed(CLAIMS.items()))) == token
    assert FileSigner(KEY).sign(CLAIMS) == token


def test_any_other_implementation_can_verify_it_with_the_published_key():
    key = SigningKey(key_id=SIGNER.key_id, purpose="token", public=SIGNER.public, created_at=START).as_jwk()
    assert "d" not in key
    assert (key["kid"], key["use"], key["alg"]) == (SIGNER.key_id, "sig", "EdDSA")
    required = {name: key[name] for name in ("crv", "kty", "x")}
    thumbprint = hashlib.sha256(json.dumps(required, sort_keys=True, separators=(",", ":")).encode()).digest()
    assert part(thumbprint) == key["kid"]
    token = SIGNER.sign(CLAIMS)
    claims = jwt.decode(token, jwt.PyJWK(key), algorithms=["EdDSA"], audience="http://localhost")
    assert claims == CLAIMS
    assert jwt.get_unverified_header(token) == header()


def test_an_expired_token_is_still_ours():
    assert verify(SIGNER.sign({"exp": 1})) == {"exp": 1}


HEADERS = {
    "no algorithm": {"alg": "none"},
    "another case": {"alg": "eddsa"},
    "the newer name": {"alg": "Ed25519"},
    "a symmetric one": {"alg": "HS256"},
    "another type": {"typ": "JWT"},
    "another key": {"kid": "other"},
    "a path for a key": {"kid": "../../etc/passwd"},
    "a key in the token": {"jwk": {"kty": "OKP"}},
    "an address for a key": {"jku": "https://attacker.example/keys"},
    "critical extensions": {"crit": ["exp"]},
    "detached": {"b64": False, "crit": ["b64"]},
    "an odd kid": {"kid": 7},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_is_not_ours_is_refused_even_with_our_signature(name):
    refused(signed(header(**HEADERS[name]), CLAIMS))


def test_the_algorithm_of_the_token_is_not_believed():
    body = f"{part(header(alg='HS256'))}.{part(CLAIMS)}"
    public = SIGNER.public
    for secret in (public.encode(), base64.urlsafe_b64decode(public + "="), b""):
        refused(f"{body}.{part(hmac.new(secret, body.encode(), hashlib.sha256).digest())}")
    for signature in ("", part(b"\0" * 64)):
        refused(f"{part(header(alg='none'))}.{part(CLAIMS)}.{signature}")
        refused(SIGNER.sign(CLAIMS).rsplit(".", 1)[0] + f".{signature}")


def test_another_key_with_our_header_is_refused():
    other = Ed25519PrivateKey.generate()
    ours = SIGNER.sign(CLAIMS)
    text = ours.rsplit(".", 1)[0]
    refused(f"{text}.{part(other.sign(text.encode()))}")
    refused(FileSigner(other).sign(CLAIMS))


CLAIM_FORMS = {
    "exp as text": {"exp": "1800000000"},
    "exp as true": {"exp": True},
    "exp as a fraction": {"exp": 1.5},
    "exp as null": {"exp": None},
    "sub as a number": {"sub": 1},
    "aud as a list": {"aud": ["http://localhost"]},
    "jti as an object": {"jti": {}},
    "cnf as text": {"cnf": "c1"},
    "iat as a list": {"iat": []},
}


@pytest.mark.parametrize("name", CLAIM_FORMS)
def test_claims_of_odd_types_are_refused(name):
    ours = SIGNER.sign(CLAIMS).partition(".")[0]
    text = f"{ours}.{part(CLAIMS | CLAIM_FORMS[name])}"
    refused(f"{text}.{part(KEY.sign(text.encode()))}")


@pytest.mark.parametrize("payload", [b"", b"[]", b'"x"', b"null", b"{", b'{"sub":"a","sub":"b"}', b"\xff", b"[" * 900])
def test_a_payload_that_is_no_object_is_refused(payload):
    ours = SIGNER.sign(CLAIMS).partition(".")[0]
    text = f"{ours}.{part(payload)}"
    refused(f"{text}.{part(KEY.sign(text.encode()))}")


def test_one_token_has_one_spelling():
    token = SIGNER.sign(CLAIMS)
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twins = [token[:-1] + letter for letter in last if letter != token[-1]]
    for twin in [*twins, token + "=", token + "\n", f" {token}", token + ".", token.replace(".", "..", 1), f"{token}A"]:
        refused(twin)


@pytest.mark.parametrize("token", ["", ".", "..", "...", "é.é.é", "a" * 10_000_000, "\ud800", "\0", "a.b.c"])
def test_rubbish_is_refused(token):
    refused(token)


def test_a_huge_token_of_ours_is_refused():
    assert len(SIGNER.sign({"sub": "x" * MAX_TOKEN_CHARACTERS})) > MAX_TOKEN_CHARACTERS
    refused(SIGNER.sign({"sub": "x" * MAX_TOKEN_CHARACTERS}))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 400), st.characters(exclude_categories=["Cs"]))
def test_one_changed_character_is_refused(place, letter):
    token = SIGNER.sign(CLAIMS)
    place %= len(token)
    if token[place] != letter:
        refused(token[:place] + letter + token[place + 1 :])


def test_a_key_that_is_not_asked_for_is_not_believed():
    token = SIGNER.sign(CLAIMS)
    assert key_id_of(token) == SIGNER.key_id
    with pytest.raises(RequestError):
        verified_claims(token, lambda _key_id: None)
    other = FileSigner(Ed25519PrivateKey.from_private_bytes(b"o" * 32))
    with pytest.raises(RequestError):
        verified_claims(token, {SIGNER.key_id: other.public}.get)


@pytest.mark.parametrize("token", ["", ".", "a", "é", "e30.e30.", "bm90IGpzb24.e30.", part([1]) + ".x.y", "=" * 600])
def test_whatever_is_no_token_names_no_key(token):
    assert key_id_of(token) == ""
