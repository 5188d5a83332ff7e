"""An attestation is verified for exactly what was signed; anything else is one error, whatever the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negotiator.errors import RequestError
from negotiator.model.evidence import Attestation
from negotiator.store import JwsAttestations
from tests.support.evidence import Issuer

ISSUER, CONTENT = Issuer(), b"reviewed by ana"
JWS = ISSUER.attests(CONTENT, kind="memory_review", about="agent:a1")
words = st.text('az_:é中"\\', max_size=9)
KNOWN = {ISSUER.key_id: ISSUER.public}.get


def refused(jws: str, content: bytes = CONTENT) -> None:
    with pytest.raises(RequestError) as caught:
        JwsAttestations().verified(jws, content, KNOWN)
    assert caught.value.code == "attestation_invalid"


@given(content=st.binary(max_size=64), kind=words, about=words)
def test_what_was_signed_is_what_is_said(content: bytes, kind: str, about: str):
    jws = ISSUER.attests(content, kind=kind, about=about)
    said = JwsAttestations().verified(jws, content, KNOWN)
    assert said == Attestation(key_id=ISSUER.key_id, kind=kind, about=about)


@given(place=st.integers(0, len(JWS) - 1), character=st.characters(max_codepoint=127))
def test_one_character_changed_is_refused(place: int, character: str):
    changed = JWS[:place] + character + JWS[place + 1 :]
    if changed != JWS:
        refused(changed)


@given(place=st.integers(0, len(CONTENT) - 1), bit=st.integers(0, 7))
def test_one_bit_of_the_content_changed_is_refused(place: int, bit: int):
    changed = bytearray(CONTENT)
    changed[place] ^= 1 << bit
    refused(JWS, bytes(changed))


@given(jws=st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
def test_any_text_is_one_error(jws: str):
    refused(jws)


@pytest.mark.parametrize(
    "jws", [JWS + "=", JWS + "A", f" {JWS}", JWS + "\n", JWS.replace("..", ".AA."), "..", "a" * 5000]
)
def test_one_spelling_counts(jws: str):
    refused(jws)


@given(key=st.text(max_size=120))
def test_any_text_is_a_key_or_one_error(key: str):
    code, lengths = "", (43, 43)
    try:
        lengths = tuple(map(len, JwsAttestations().key_of(key)))
    except RequestError as error:
        code = error.code
    assert code in {"", "issuer_invalid"}
    assert lengths == (43, 43)
