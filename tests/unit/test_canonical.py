"""Strict reading, canonical bytes, and what is refused on the way."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

import pytest
import rfc8785

from negotiator.canonical import canonical_bytes, decode_json, digest, entry_bytes, escape_pointer, sha256_hex
from negotiator.errors import NegotiatorError, RequestError

READ = [
    (b"0.1", 0.1),
    (b"5e-324", 5e-324),
    (b"-0.0", 0),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\\\ud800"', "\\ud800"),
    (b'"\\t\\n\\r"', "\t\n\r"),
    (b' [1, {"a": null}]\n', [1, {"a": None}]),
    (b"9007199254740991", 2**53 - 1),
    (b'"[[[[' + b"[" * 100 + b'"', "[" * 104),
    (b'["\\"' + b"[" * 100 + b'"]', ['"' + "[" * 100]),
]


@pytest.mark.parametrize(("data", "value"), READ)
def test_what_json_has_is_read(data, value):
    assert decode_json(data) == value


@pytest.mark.parametrize("spelling", [b"1", b"1.0", b"1e0", b"10e-1", b"1.000"])
def test_one_number_has_one_value(spelling):
    value = decode_json(spelling)
    assert value == 1
    assert type(value) is int


REFUSED = [
    (b"", "body_malformed", None),
    (b" \n", "body_malformed", None),
    (b"\xef\xbb\xbf{}", "body_malformed", None),
    (b"NaN", "body_malformed", None),
    (b"[Infinity]", "body_malformed", None),
    (b"[-Infinity]", "body_malformed", None),
    (b"{} {}", "body_malformed", None),
    (b"[1,]", "body_malformed", None),
    (b"{'a': 1}", "body_malformed", None),
    (b"01", "body_malformed", None),
    (b'"a\nb"', "body_malformed", None),
    (b'"' + b'\\"' * 50_000, "body_malformed", None),
    (b'{"a": 1, "a": 1}', "duplicate_key", ""),
    (b'{"a": 1, "\\u0061": 2}', "duplicate_key", ""),
    (b'[{"x/y": {"a": 1, "a": 2}}]', "duplicate_key", "/0/x~1y"),
    (b"[" * 65 + b"]" * 65, "json_too_deep", None),
    (b'{"a":' * 10_000, "json_too_deep", None),
    (b"[" * 10_000, "json_too_deep", None),
    (b"[9007199254740992]", "number_not_exact", "/0"),
    (b"[-9007199254740993]", "number_not_exact", "/0"),
    (b"1" * 5_000, "number_not_exact", ""),
    (b"1e999", "number_not_exact", ""),
    (b"1e-400", "number_not_exact", ""),
    (b"1e99999999999999999999", "number_not_exact", ""),
    (b"0.10000000000000000001", "number_not_exact", ""),
    (b"1e20", "number_not_exact", ""),
    (b"9007199254740993.0", "number_not_exact", ""),
    (b'{"a": "\\ud800"}', "invalid_unicode", "/a"),
    (b'{"\\udc00": 1}', "invalid_unicode", ""),
    (b"\xff", "invalid_unicode", None),
    (b'"\xed\xa0\x80"', "invalid_unicode", None),
    (b'["\\u0000"]', "invalid_unicode", "/0"),
    (b'["\\u001F"]', "invalid_unicode", "/0"),
    (b'["\\b"]', "invalid_unicode", "/0"),
    (b'["\x7f"]', "invalid_unicode", "/0"),
    (b'["\\u0085"]', "invalid_unicode", "/0"),
    ('["\u0085"]'.encode(), "invalid_unicode", "/0"),
]


@pytest.mark.parametrize(("data", "code", "pointer"), REFUSED, ids=lambda value: repr(value)[:30])
def test_what_two_readers_could_read_differently_is_refused(data, code, pointer):
    with pytest.raises(RequestError) as refusal:
        decode_json(data)
    assert (refusal.value.code, refusal.value.pointer) == (code, pointer)


def test_a_body_is_read_up_to_its_limit_and_not_beyond():
    assert decode_json(b"[1]", max_bytes=3) == [1]
    with pytest.raises(RequestError) as refusal:
        decode_json(b"[1]", max_bytes=2)
    assert refusal.value.code == "body_too_large"


def test_depth_is_read_up_to_its_limit():
    assert decode_json(b"[" * 64 + b"]" * 64)
    assert decode_json(b"[[]]", max_depth=2) == [[]]
    assert decode_json(b"[[],[],[]]", max_depth=2) == [[], [], []]


def test_many_keys_are_searched_for_a_repeated_one_in_linear_time():
    members = ",".join(f'"k{n}":0' for n in range(60_000))
    with pytest.raises(RequestError) as refusal:
        decode_json(f'{{{members},"k59999":1}}'.encode())
    assert refusal.value.code == "duplicate_key"


CANONICAL = [
    ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
    ([1e21, 1e-7, 0.000001, 1.0, -0.0], b"[1e+21,1e-7,0.000001,1,0]"),
    ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'.encode()),
    ('\x07\x7f\u2028\u20ac"\\/', '"\\u0007\x7f\u2028€\\"\\\\/"'.encode()),
    (MappingProxyType({"a": (1, 2)}), b'{"a":[1,2]}'),
    ({"a": range(3)}, b'{"a":[0,1,2]}'),
    (MappingProxyType({"a": (0.5,)}), b'{"a":[0.5]}'),
]


@pytest.mark.parametrize(("value", "expected"), CANONICAL)
def test_canonical_bytes_are_those_of_rfc_8785(value, expected):
    assert canonical_bytes(value) == expected


def test_keys_beyond_the_first_plane_sort_by_utf_16():
    # RFC 8785 section 3.2.3: U+1F600 is D83D DE00 in UTF-16 and stands before U+FB33, unlike in UTF-8.
    assert list(decode_json(canonical_bytes({"\ufb33": 1, "\U0001f600": 2}))) == ["\U0001f600", "\ufb33"]


CYCLE: list[object] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value", [{1: 2}, {"a"}, b"bytes", {"a": b"bytes"}, float("nan"), 2**53, "\ud800", object(), CYCLE]
)
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(NegotiatorError) as refusal:
        canonical_bytes(value)
    assert refusal.value.code == "not_canonical"


class Kind(StrEnum):
    DECLARE = "declare"


ENTRY = {
    "v": 1,
    "kind": Kind.DECLARE,
    "name": '中文 "quoted", null: 1.5e3 \\',
    "allowed": True,
    "facts": MappingProxyType({"levels": (1, 2), "none": []}),
    "largest": 2**53 - 1,
}


def test_an_entry_is_canonical():
    plain = {**ENTRY, "facts": {"levels": [1, 2], "none": []}, "kind": "declare"}
    assert entry_bytes(ENTRY) == rfc8785.dumps(plain) == canonical_bytes(ENTRY)


NO_MEMBERS = [None, 1.0, 0.5, float("nan"), float("inf"), 2**53, -(2**53), b"x", "\ud800", {"a"}, object(), CYCLE]
NO_MEMBERS += [[None], [[1.5]], {"a": {"b": None}}, {"ключ": 1}, {"a": {"\U0001f600": 1}}, {1: 1}]
NO_MEMBERS += [datetime(2026, 1, 1, tzinfo=UTC)]


@pytest.mark.parametrize("member", NO_MEMBERS)
def test_an_entry_holds_nothing_that_could_be_written_in_two_ways(member):
    with pytest.raises(NegotiatorError) as refusal:
        entry_bytes({"v": 1, "member": member})
    assert refusal.value.code == "entry_not_canonical"


def test_digests_are_those_of_the_bytes():
    assert digest({"a": 1}) == sha256_hex(b'{"a":1}') == hashlib.sha256(b'{"a":1}').hexdigest()


def test_pointers_escape_what_rfc_6901_escapes():
    assert escape_pointer("a/b~c") == "a~1b~0c"
