"""Laws: the three encodings are one message, one digest; and rubbish is refused, never a crash."""

from __future__ import annotations

import json
from contextlib import suppress

import orjson
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from negotiator.canonical import canonical_bytes, decode_json, entry_bytes
from negotiator.errors import NegotiatorError, RequestError
from negotiator.messages import decode_message, encode_message, message_digest
from tests.support.messages import CATALOG, SMALLEST, VALIDATOR, integers, keyed_messages, prose, values

ENCODINGS = ["keyed", "minified", "keyless"]
few = settings(max_examples=80, deadline=None)


@few
@given(keyed_messages)
def test_every_encoding_decodes_to_the_same_message_with_the_same_digest(keyed):
    for encoding in ENCODINGS:
        message = decode_message(encode_message(keyed, encoding, CATALOG), CATALOG)
        assert message.encoding == encoding
        assert message.keyed == keyed
        assert message.digest == message_digest(keyed)


@few
@given(keyed_messages, st.sampled_from(ENCODINGS), st.sampled_from(ENCODINGS))
def test_encoding_again_by_any_way_gives_the_same_bytes(keyed, by_way_of, encoding):
    direct = encode_message(keyed, encoding, CATALOG)
    detour = decode_message(encode_message(keyed, by_way_of, CATALOG), CATALOG)
    if encoding == "keyless":
        assert encode_message(detour, encoding, CATALOG) == direct
    else:
        assert canonical_bytes(decode_json(encode_message(detour, encoding, CATALOG))) == canonical_bytes(keyed)


@few
@given(keyed_messages)
def test_the_digest_is_that_of_rfc_8785_without_the_checksum(keyed):
    bare = json.loads(json.dumps(keyed))
    had_checksum = bare.get("integrity", {}).pop("checksum", None) is not None
    if had_checksum and not bare["integrity"]:
        del bare["integrity"]
    assert canonical_bytes(bare) == rfc8785.dumps(bare)
    assert message_digest(keyed) == message_digest(bare)


@few
@given(keyed_messages)
def test_made_messages_are_valid(keyed):
    message = decode_message(encode_message(keyed, "minified", CATALOG), CATALOG)
    assert VALIDATOR.check_message(message, strict=False) == []


@few
@given(keyed_messages, st.text("abc", min_size=3, max_size=6), values)
def test_a_key_of_ones_own_changes_the_digest_and_has_no_keyless_form(keyed, key, value):
    own = keyed | {"body": keyed["body"] | {f"x_{key}": value}}
    assert message_digest(own) != message_digest(keyed)
    with pytest.raises(RequestError) as refusal:
        encode_message(own, "keyless", CATALOG)
    assert (refusal.value.code, refusal.value.pointer) == ("keyless_shape", f"/body/x_{key}")


@few
@given(
    st.binary(max_size=60)
    | values.map(orjson.dumps)
    | st.text(' {}[]",:0123456789.eE-\\unltrfas', max_size=40).map(str.encode)
)
def test_any_bytes_are_decoded_or_refused(data):
    for decode in (decode_json, lambda some: decode_message(some, CATALOG)):
        with suppress(RequestError):
            decode(data)


@few
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_one_byte_flipped_is_decoded_or_refused(place, byte):
    data = bytearray(orjson.dumps(SMALLEST))
    data[place % len(data)] = byte
    try:
        message = decode_message(bytes(data), CATALOG)
    except RequestError:
        return
    VALIDATOR.check_message(message, strict=True)


@few
@given(values)
def test_what_is_read_is_what_canonical_bytes_say(value):
    assert canonical_bytes(value) == rfc8785.dumps(value)
    assert decode_json(canonical_bytes(value)) == value


ascii_keys = st.text(st.characters(max_codepoint=126, min_codepoint=32), max_size=5)
almost_entries = st.dictionaries(
    ascii_keys | st.sampled_from(["ключ", "\U0001f600"]),
    st.recursive(
        integers | st.booleans() | prose | st.sampled_from([None, 1.0, 0.5, 2**53, '":1.5,null']),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ascii_keys, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)


@few
@given(almost_entries)
def test_entry_bytes_are_canonical_or_refused(value):
    if _has_what_entries_may_not(value):
        with pytest.raises(NegotiatorError, match="an entry holds"):
            entry_bytes(value)
    else:
        assert entry_bytes(value) == rfc8785.dumps(value)


def _has_what_entries_may_not(value):
    match value:
        case dict():
            return any(not key.isascii() or _has_what_entries_may_not(member) for key, member in value.items())
        case list():
            return any(map(_has_what_entries_may_not, value))
        case bool() | str():
            return False
        case int():
            return abs(value) >= 2**53
        case _:
            return True
