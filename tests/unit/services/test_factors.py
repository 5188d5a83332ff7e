"""One-time codes and security keys, and challenges and forms of one session."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negotiator.errors import IntegrityError, RequestError
from negotiator.model.people import FactorKind
from negotiator.services.factors import (
    answered_challenge,
    answering_factor,
    assertion_options,
    matching_step,
    registration_options,
    totp_url,
    verified_assertion,
    verified_registration,
)
from negotiator.services.forms import NOTHING, check_challenge, form_token, is_form_token, new_challenge
from negotiator.store import AesSealer
from tests.support.people import PARTY, SoftKey, secret_in
from tests.support.stores import HASH, START, factor, person, session

RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()
CHALLENGE = bytes(range(88))
FAILED = "factor_failed"


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"), (20000000000, "353130")],
)
def test_codes_are_those_of_rfc_6238(seconds, code):
    assert matching_step(RFC_SECRET, code, now=at(seconds), after=0) == seconds // 30


def test_the_neighbours_of_a_step_are_taken_and_no_others():
    step = 1111111111 // 30
    moments = {moved: at(1111111111 + 30 * moved) for moved in (-2, -1, 0, 1, 2)}
    taken = {moved: matching_step(RFC_SECRET, "050471", now=now, after=0) for moved, now in moments.items()}
    assert taken == {-2: None, -1: step, 0: step, 1: step, 2: None}


def test_a_step_that_was_accepted_is_over():
    step = 1111111111 // 30
    assert matching_step(RFC_SECRET, "050471", now=at(1111111111), after=step) is None
    assert matching_step(RFC_SECRET, "050471", now=at(1111111111), after=step - 1) == step


@pytest.mark.parametrize("code", ["", "05047", "0504711", "05047a", "٠٥٠٤٧١", "050471\n050471", "-50471", "050471\x00"])
def test_what_is_no_code_is_none(code):
    assert matching_step(RFC_SECRET, code, now=at(1111111111), after=0) is None


def test_a_code_may_be_typed_as_it_is_shown():
    assert matching_step(RFC_SECRET, "050 471", now=at(1111111111), after=0)


def test_apps_read_name_issuer_and_secret():
    url = totp_url(RFC_SECRET, name="ada", issuer="site at example.org")
    assert url.startswith("otpauth://totp/")
    assert secret_in(url) == RFC_SECRET
    assert "issuer=site%20at%20example.org" in url


def enrolled(key: SoftKey):
    options = registration_options(person(), (), party=PARTY, challenge=CHALLENGE)
    found = verified_registration(key.registered(options), party=PARTY, challenge=CHALLENGE)
    return factor(
        kind=FactorKind.WEBAUTHN, secret=found.public_key, credential_id=found.credential_id, counter=found.counter
    )


def test_a_key_is_registered_and_recognised():
    key = SoftKey()
    made = enrolled(key)
    options = assertion_options([made, factor()], party=PARTY, challenge=CHALLENGE)
    assert [each["id"] for each in options["allowCredentials"]] == [made.credential_id]
    assert options["userVerification"] == "required"
    answer = key.asserted(options)
    assert answered_challenge(answer) == CHALLENGE
    assert answering_factor(answer, [factor(), made]) == made
    assert verified_assertion(answer, made, party=PARTY, challenge=CHALLENGE).counter == 1


def test_a_key_that_is_there_is_not_offered_again():
    options = registration_options(person(), [enrolled(SoftKey())], party=PARTY, challenge=CHALLENGE)
    assert len(options["excludeCredentials"]) == 1
    assert options["attestation"] == "none"


def fails(act) -> None:
    with pytest.raises(RequestError) as caught:
        act()
    assert caught.value.code == FAILED


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://127.0.0.1:8123"},
        {"origin": "https://localhost:8123"},
        {"rp_id": "example.org"},
    ],
    ids=str,
)
def test_an_answer_for_another_site_is_refused(wrong):
    key = SoftKey()
    made = enrolled(key)
    answer = key.asserted(assertion_options([made], party=PARTY, challenge=CHALLENGE), **wrong)
    fails(lambda: verified_assertion(answer, made, party=PARTY, challenge=CHALLENGE))


def test_an_answer_to_another_challenge_by_another_key_or_without_its_user_is_refused():
    key, other, silent = SoftKey(), SoftKey(), SoftKey(verifies=False)
    made = enrolled(key)
    options = assertion_options([made], party=PARTY, challenge=CHALLENGE)
    answer = key.asserted(options)
    fails(lambda: verified_assertion(answer, made, party=PARTY, challenge=bytes(88)))
    fails(lambda: verified_assertion(other.asserted(options), made, party=PARTY, challenge=CHALLENGE))
    fails(lambda: enrolled(silent))
    silent._key, silent.credential_id = key._key, key.credential_id
    fails(lambda: verified_assertion(silent.asserted(options), made, party=PARTY, challenge=CHALLENGE))
    fails(lambda: answering_factor(answer, [factor()]))


def test_a_counter_that_goes_back_is_a_copied_key():
    key = SoftKey()
    made = replace(enrolled(key), counter=5)
    answer = key.asserted(assertion_options([made], party=PARTY, challenge=CHALLENGE))
    fails(lambda: verified_assertion(answer, made, party=PARTY, challenge=CHALLENGE))


texts = st.one_of(
    st.text(max_size=200),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "rawId", "type", "response", "clientDataJSON", "challenge", "attestationObject"]
                ),
                inner,
                max_size=5,
            )
        ),
    ).map(json.dumps),
)


@given(texts)
def test_whatever_a_browser_sends_is_a_failed_factor_at_worst(text):
    made = enrolled(_KEY)
    for act in (
        lambda: answered_challenge(text),
        lambda: answering_factor(text, [made]),
        lambda: verified_registration(text, party=PARTY, challenge=CHALLENGE),
        lambda: verified_assertion(text, made, party=PARTY, challenge=CHALLENGE),
    ):
        fails(act)


_KEY = SoftKey()


@given(st.integers(0, 2**16), st.integers(0, 255))
def test_an_answer_with_one_byte_changed_is_refused(place, value):
    made = enrolled(_KEY)
    answer = _KEY.asserted(assertion_options([made], party=PARTY, challenge=CHALLENGE))
    document = json.loads(answer)
    parts = document["response"]
    name = sorted(parts)[place % 3]
    octets = bytearray(base64.urlsafe_b64decode(parts[name] + "=="))
    index = place // 3 % len(octets)
    if octets[index] == value:
        return
    octets[index] = value
    parts[name] = base64.urlsafe_b64encode(bytes(octets)).rstrip(b"=").decode()
    fails(lambda: verified_assertion(json.dumps(document), made, party=PARTY, challenge=CHALLENGE))


def challenge(one=None, **changes):
    values = {"object_sha256": HASH, "now": START, "nonce": "n"} | changes
    return new_challenge(one or session(), "assert", **values)


def test_a_challenge_carries_the_object_and_holds_for_five_minutes():
    made = challenge()
    assert bytes.fromhex(HASH) in made
    assert len(made) == 88
    for seconds in (0, 299):
        later = START + timedelta(seconds=seconds)
        assert check_challenge(made, session(), "assert", object_sha256=HASH, now=later) == made
    late = START + timedelta(seconds=300)
    fails(lambda: check_challenge(made, session(), "assert", object_sha256=HASH, now=late))


def test_a_challenge_is_of_one_session_purpose_and_object():
    made = challenge()
    other = session(csrf_secret="d" * 43)
    for act in (
        lambda: check_challenge(made, other, "assert", object_sha256=HASH, now=START),
        lambda: check_challenge(made, session(), "register", object_sha256=HASH, now=START),
        lambda: check_challenge(made, session(), "assert", object_sha256=NOTHING, now=START),
        lambda: check_challenge(b"", session(), "assert", object_sha256=HASH, now=START),
        lambda: check_challenge(made[:-1], session(), "assert", object_sha256=HASH, now=START),
    ):
        fails(act)
    assert challenge(nonce="m") != made


def test_a_form_is_of_one_session_and_object():
    token = form_token(session(), "consent 1")
    assert is_form_token(session(), "consent 1", token)
    assert not is_form_token(session(), "consent 2", token)
    assert not is_form_token(session(csrf_secret="d" * 43), "consent 1", token)
    for wrong in ("", token[:-1], token.upper(), "é", "\ud800"):
        assert not is_form_token(session(), "consent 1", wrong)


def test_sealed_secrets_open_in_their_place_only():
    sealer = AesSealer(bytes(32))
    sealed = sealer.seal(RFC_SECRET, place="one")
    assert sealer.open(sealed, place="one") == RFC_SECRET
    assert RFC_SECRET not in sealed
    assert sealer.seal(RFC_SECRET, place="one") != sealed
    flipped = sealed[:-1] + ("A" if sealed[-1] != "A" else "Q")
    for text, place, one in (
        (sealed, "two", sealer),
        (sealed, "one", AesSealer(b"\x01" * 32)),
        (flipped + "A", "one", sealer),
        (sealed[:12], "one", sealer),
        ("", "one", sealer),
        ("v2." + sealed[3:], "one", sealer),
        ("v1.é", "one", sealer),
    ):
        with pytest.raises(IntegrityError) as caught:
            one.open(text, place=place)
        assert caught.value.code == "secret_unreadable"
