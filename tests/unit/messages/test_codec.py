"""The codec, case by case: what each encoding looks like and what is refused with which code and pointer."""

from __future__ import annotations

import json
from copy import deepcopy

import orjson
import pytest

from negotiator.canonical import MAX_BODY_BYTES, canonical_bytes, sha256_hex
from negotiator.errors import NegotiatorError, RequestError
from negotiator.messages import decode_message, encode_message, message_digest, require_profile
from negotiator.model.levels import CAPABILITY_PROFILES
from tests.support.messages import CATALOG, SMALLEST, SMALLEST_KEYLESS

L1 = "uai.client.structured-fetch.v1"
BODY_SLOTS = SMALLEST_KEYLESS[8]
ACK = {"profile": "uai.agent.ack.v1", "body": {"note": None, "of": "x"}}


def decode(value):
    return decode_message(orjson.dumps(value), CATALOG)


def refusal_of(value):
    with pytest.raises(RequestError) as refusal:
        decode(value)
    return refusal.value.code, refusal.value.pointer


def changed(**body):
    return SMALLEST | {"body": SMALLEST["body"] | body}


def test_the_smallest_safe_packet_and_its_keyless_twin_are_one_message():
    keyed, keyless = decode(SMALLEST), decode(SMALLEST_KEYLESS)
    assert (keyed.encoding, keyless.encoding) == ("minified", "keyless")
    assert keyed.keyed == keyless.keyed == SMALLEST
    assert keyed.digest == keyless.digest == sha256_hex(canonical_bytes(SMALLEST))
    assert json.loads(encode_message(keyed, "keyless", CATALOG)) == SMALLEST_KEYLESS
    assert json.loads(encode_message(keyless, "keyed", CATALOG)) == SMALLEST


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ('{"profile":"uai.agent.ack.v1","body":{}}', "minified"),
        ('\n{"profile":"uai.agent.ack.v1","body":{}}\n', "minified"),
        ('{"profile":"uai.agent.ack.v1","body":{"a b":"c: \\" d\\\\"}}', "minified"),
        ('{"profile":"uai.agent.ack.v1", "body":{}}', "keyed"),
        ('{"profile":"uai.agent.ack.v1","body":{"a":"\\\\" }}', "keyed"),
        ('[null,"uai.agent.ack.v1",null,null,null,null,null,null,{}]', "keyless"),
    ],
)
def test_the_encoding_is_told_by_the_bytes(text, encoding):
    assert decode_message(text.encode(), CATALOG).encoding == encoding


def test_the_order_of_keys_does_not_change_the_digest():
    turned = dict(reversed([*SMALLEST.items()]))
    assert decode(turned).digest == decode(SMALLEST).digest


@pytest.mark.parametrize("slots", range(9, 13))
def test_nine_to_twelve_slots_are_read(slots):
    twin = SMALLEST_KEYLESS + [None] * (slots - 9)
    assert decode(twin).digest == decode(SMALLEST).digest


def test_only_the_empty_tail_is_dropped():
    slots = json.loads(encode_message(SMALLEST | {"integrity": {"algorithm": "sha-256"}}, "keyless", CATALOG))
    assert len(slots) == 11
    assert slots[9:] == [None, {"algorithm": "sha-256"}]


def test_a_body_without_a_registered_order_stays_an_object():
    assert json.loads(encode_message(ACK, "keyless", CATALOG))[8] == ACK["body"]
    assert decode_message(encode_message(ACK, "keyless", CATALOG), CATALOG).keyed == ACK


def test_a_negotiation_has_a_keyless_form():
    body = {"negotiation_id": "n1", "effective_level": "L1", "ledger": {"index": 0}}
    message = {"profile": "uai.capability.negotiation.v1", "body": body}
    slots = json.loads(encode_message(message, "keyless", CATALOG))
    assert slots[8][0] == "n1"
    assert (len(slots[8]), slots[8][17]) == (18, {"index": 0})
    assert decode(slots).keyed == message


REFUSED = [
    (1, "not_a_message", ""),
    ("text", "not_a_message", ""),
    (None, "not_a_message", ""),
    ({}, "not_a_message", "/profile"),
    ({"body": {}}, "not_a_message", "/profile"),
    ({"profile": 5, "body": {}}, "not_a_message", "/profile"),
    ({"profile": None, "body": {}}, "not_a_message", "/profile"),
    ({"profile": L1}, "not_a_message", "/body"),
    ({"profile": "uai.client.other.v1", "body": {}}, "unknown_profile", "/profile"),
    ({"profile": L1.upper(), "body": {}}, "unknown_profile", "/profile"),
    (SMALLEST | {"surprise": 1}, "unknown_field", "/surprise"),
    (SMALLEST | {"a/b": 1}, "unknown_field", "/a~1b"),
    (SMALLEST | {"": 1}, "unknown_field", "/"),
    ({"p": L1, "b": {}}, "unsupported_alias", "/p"),
    (SMALLEST | {"v": "1.0"}, "unsupported_alias", "/v"),
    (SMALLEST | {"messageId": "m"}, "unsupported_alias", "/messageId"),
    (SMALLEST | {"msg_id": "m"}, "unsupported_alias", "/msg_id"),
    (changed(clientLevel="L1"), "unsupported_alias", "/body/clientLevel"),
    (changed(cl="L1"), "unsupported_alias", "/body/cl"),
    ([], "keyless_shape", ""),
    (SMALLEST_KEYLESS[:8], "keyless_shape", ""),
    (SMALLEST_KEYLESS + [None] * 4, "keyless_overflow", "/12"),
    ([None] * 9, "not_a_message", "/profile"),
    ([*SMALLEST_KEYLESS[:8], None], "not_a_message", "/body"),
    ([*SMALLEST_KEYLESS[:8], SMALLEST["body"]], "keyless_shape", "/8"),
    ([*SMALLEST_KEYLESS[:8], "text"], "keyless_shape", "/8"),
    ([*SMALLEST_KEYLESS[:8], BODY_SLOTS[:17]], "keyless_shape", "/8"),
    ([*SMALLEST_KEYLESS[:8], [*BODY_SLOTS, None]], "keyless_overflow", "/8/18"),
    ([None, "uai.agent.ack.v1", *[None] * 6, []], "keyless_shape", "/8"),
    ([None, "uai.other.v1", *[None] * 6, []], "unknown_profile", "/profile"),
]


@pytest.mark.parametrize(("value", "code", "pointer"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_no_message_is_refused_with_its_code_and_place(value, code, pointer):
    assert refusal_of(value) == (code, pointer)


NO_SLOT = [
    (changed(x_note=1), "/body/x_note"),
    (changed(known_limits=None), "/body/known_limits"),
    (SMALLEST | {"trust": None}, "/trust"),
    (SMALLEST | {"body": []}, "/body"),
    (SMALLEST | {"other": 1}, "/other"),
]


@pytest.mark.parametrize(("keyed", "pointer"), NO_SLOT)
def test_what_has_no_slot_has_no_keyless_form(keyed, pointer):
    with pytest.raises(RequestError) as refusal:
        encode_message(keyed, "keyless", CATALOG)
    assert (refusal.value.code, refusal.value.pointer) == ("keyless_shape", pointer)


def test_a_message_is_encoded_like_its_keyed_form():
    assert encode_message(decode(SMALLEST), "minified", CATALOG) == orjson.dumps(SMALLEST)


def test_a_value_that_is_no_json_is_not_encoded():
    with pytest.raises(NegotiatorError) as refusal:
        encode_message(changed(x={1}), "keyed", CATALOG)
    assert refusal.value.code == "not_canonical"


def test_an_own_body_key_is_kept_in_the_digest():
    assert decode(changed(favourite="tea")).keyed["body"]["favourite"] == "tea"
    assert decode(changed(favourite="tea")).digest != decode(SMALLEST).digest


INTEGRITY = [
    ({"checksum": "abc"}, None),
    ({"checksum": "abc", "algorithm": "sha-256"}, {"algorithm": "sha-256"}),
    ({"algorithm": "sha-256"}, {"algorithm": "sha-256"}),
    ({}, {}),
]


@pytest.mark.parametrize(("integrity", "counted"), INTEGRITY)
def test_the_checksum_is_not_in_the_digest(integrity, counted):
    rest = SMALLEST if counted is None else SMALLEST | {"integrity": counted}
    message = SMALLEST | {"integrity": integrity}
    untouched = deepcopy(message)
    assert message_digest(message) == sha256_hex(canonical_bytes(rest))
    assert message == untouched


def test_a_known_profile_may_be_the_wrong_one():
    require_profile(decode(SMALLEST), CAPABILITY_PROFILES)
    with pytest.raises(RequestError) as refusal:
        require_profile(decode(ACK), CAPABILITY_PROFILES)
    assert (refusal.value.code, refusal.value.pointer) == ("unknown_profile", "/profile")


@pytest.mark.parametrize("twin", [SMALLEST, SMALLEST_KEYLESS], ids=["keyed", "keyless"])
def test_a_message_cut_anywhere_is_refused(twin):
    data = orjson.dumps(twin)
    for end in range(len(data)):
        with pytest.raises(RequestError):
            decode_message(data[:end], CATALOG)
    for rubbish in (b"x", b"{}", b"\x00", b",", b"\xff"):
        with pytest.raises(RequestError):
            decode_message(data + rubbish, CATALOG)


@pytest.mark.parametrize("twin", [SMALLEST, SMALLEST_KEYLESS], ids=["keyed", "keyless"])
def test_every_byte_flipped_is_read_or_refused(twin):
    data = orjson.dumps(twin)
    digests = set()
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 0x01
        try:
            digests.add(decode_message(bytes(flipped), CATALOG).digest)
        except RequestError:
            continue
    assert digests
    assert decode(SMALLEST).digest not in digests


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "body_malformed"),
        (b" " * 10_000_000, "body_too_large"),
        (b"[" * 10_000, "json_too_deep"),
        (b'{"profile":' * 10_000, "json_too_deep"),
    ],
    ids=["empty", "10 MB", "10,000 arrays", "10,000 objects"],
)
def test_floods_are_refused(data, code):
    with pytest.raises(RequestError) as refusal:
        decode_message(data, CATALOG)
    assert refusal.value.code == code


def test_the_limit_is_the_callers():
    data = orjson.dumps(SMALLEST)
    assert decode_message(data, CATALOG, max_bytes=len(data)).profile == L1
    with pytest.raises(RequestError):
        decode_message(data, CATALOG, max_bytes=len(data) - 1)
    assert len(data) < MAX_BODY_BYTES
