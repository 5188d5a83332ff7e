"""Strict JSON in, canonical bytes out, and their digests.

Rules:

- What is read is JSON as RFC 8259 has it, in UTF-8 without a byte order mark, bounded in bytes and depth.
- Two readers must never understand two things: repeated keys (also when spelt by escapes), numbers that a double
  does not hold exactly, lone surrogates and control characters are refused. Of the control characters only tab, line
  feed and carriage return may stand in a string (escaped); U+0000 to U+001F and U+007F to U+009F otherwise may not.
- One number has one value: `1.0`, `1e0` and `1` are the integer 1, so integers of any spelling end at 2^53-1.
- Canonical bytes are those of RFC 8785. `entry_bytes` is its fast path alone, for values that need nothing else.

It does not: know any message, fetch anything, or accept a near miss.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn, TypeAlias

import orjson
import rfc8785

from negotiator.errors import NegotiatorError, RequestError, quoted

__all__ = [
    "MAX_BODY_BYTES",
    "MAX_DEPTH",
    "MAX_EXACT_INTEGER",
    "JsonValue",
    "canonical_bytes",
    "decode_json",
    "digest",
    "entry_bytes",
    "escape_pointer",
    "sha256_hex",
]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

MAX_BODY_BYTES: Final = 1_048_576
MAX_DEPTH: Final = 64
MAX_EXACT_INTEGER: Final = 2**53 - 1

_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_MAY_HOLD_BAD_TEXT = re.compile(r"\\u[dD][89a-fA-F]|\\u00[0189]|\\u007[fF]|\\[bf]|[\x7f-\x9f]")
_BAD_TEXT = re.compile("[\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_MAX_INTEGER_DIGITS = len(str(-MAX_EXACT_INTEGER))


def decode_json(data: bytes, *, max_bytes: int = MAX_BODY_BYTES, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Return the value that `data` holds.

    Args:
        data: one JSON text and nothing after it.
        max_bytes: longest text that is looked at.
        max_depth: deepest nesting of arrays and objects; a scalar has depth 0.

    Raises:
        RequestError: `body_too_large body_malformed duplicate_key json_too_deep number_not_exact invalid_unicode`,
            with a pointer where the place has one. No other exception escapes.

    Source: RFC 8259, RFC 7493; CAP-12.
    """
    if len(data) > max_bytes:
        message = f"the body has {len(data)} bytes; send at most {max_bytes}"
        raise RequestError(message, code="body_too_large")
    text = _utf8(data)
    _check_depth(text, max_depth)
    faults: list[_Fault] = []
    value = _parse(text, faults)
    if faults or _may_hold_bad_text(text):
        for fault, pointer in _faults(value, ""):
            raise RequestError(fault.message, code=fault.code, pointer=pointer)
    return value


def canonical_bytes(value: object) -> bytes:
    """Return the RFC 8785 bytes of a JSON value.

    Args:
        value: mappings, sequences, text, numbers, booleans and None; nothing else.

    Raises:
        NegotiatorError: `not_canonical`, for a value that has no RFC 8785 form.

    Source: RFC 8785.
    """
    plain = _plain_dump(value, nulls=True)
    if plain is not None:
        return plain
    try:
        return rfc8785.dumps(_built_ins(value))
    except (rfc8785.CanonicalizationError, RecursionError) as problem:
        message = f"the value has no canonical form: {quoted(problem)}"
        raise NegotiatorError(message, code="not_canonical") from None


def entry_bytes(value: Mapping[str, Any]) -> bytes:
    """Return the RFC 8785 bytes of a ledger entry, an order of magnitude faster than the general way.

    Args:
        value: text, booleans, integers within ±(2^53-1), lists and objects with ASCII keys.

    Raises:
        NegotiatorError: `entry_not_canonical`, for anything else (floats, None, other keys): never wrong bytes.

    Source: RFC 8785.
    """
    plain = _plain_dump(value, nulls=False)
    if plain is None:
        message = "an entry holds text, booleans, integers below 2^53, lists and objects with ASCII keys only"
        raise NegotiatorError(message, code="entry_not_canonical")
    return plain


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """Return the lower-case hex SHA-256 of the canonical bytes of `value`."""
    return sha256_hex(canonical_bytes(value))


def escape_pointer(key: str) -> str:
    """Return `key` as one reference token of a JSON Pointer (RFC 6901 section 3)."""
    return key.replace("~", "~0").replace("/", "~1")


# Reading


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands in a parsed value where something may not be, until the walk has found its pointer."""

    code: str
    message: str


def _utf8(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        message = f"byte {problem.start} is not UTF-8; send JSON in UTF-8"
        raise RequestError(message, code="invalid_unicode") from None
    if text.startswith("\ufeff"):
        message = "the body begins with a byte order mark; send JSON without one"
        raise RequestError(message, code="body_malformed")
    return text


def _check_depth(text: str, max_depth: int) -> None:
    """Refuse deep nesting before a recursive parser sees it. Linear; few brackets cost two counts."""
    if text.count("[") + text.count("{") <= max_depth:
        return
    depth = 0
    for found in _BRACKET_OR_STRING.finditer(text):
        first = text[found.start()]
        if first in "[{":
            depth += 1
            if depth > max_depth:
                message = f"arrays and objects are nested more than {max_depth} deep; send a flatter value"
                raise RequestError(message, code="json_too_deep")
        elif first in "]}":
            depth -= 1


def _parse(text: str, faults: list[_Fault]) -> JsonValue:
    """Return the value, with a fault in place of each object and number that must be refused."""

    def fault(code: str, message: str) -> _Fault:
        faults.append(_Fault(code, message))
        return faults[-1]

    def unique(pairs: list[tuple[str, Any]]) -> object:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        repeated = quoted(_first_repeated(pairs))
        return fault("duplicate_key", f"the key {repeated} stands twice in one object; send it once")

    def integer(digits: str) -> object:
        if len(digits) <= _MAX_INTEGER_DIGITS and abs(int(digits)) <= MAX_EXACT_INTEGER:
            return int(digits)
        return fault("number_not_exact", f"the integer {quoted(digits)} is beyond 2^53-1; send it as text")

    def decimal(digits: str) -> object:
        number = _exact_number(digits)
        if number is not None:
            return number
        message = f"the number {quoted(digits)} is not exact in a double; send fewer digits, or text"
        return fault("number_not_exact", message)

    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=unique, parse_int=integer, parse_float=decimal, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as problem:
        message = f"the body is no JSON: {problem.msg.lower()} (character {problem.pos}); send one JSON value"
        raise RequestError(message, code="body_malformed") from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON; send a finite number"
    raise RequestError(message, code="body_malformed")


def _first_repeated(pairs: Iterable[tuple[str, Any]]) -> str:
    return next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)


def _exact_number(digits: str) -> int | float | None:
    """Return the number that `digits` spell, or None if a double holds another one."""
    number = float(digits)
    try:
        survives = Decimal(digits) == Decimal(repr(number))
    except InvalidOperation:  # an exponent that even a decimal does not hold
        return None
    if not survives:
        return None
    if not number.is_integer():
        return number
    return int(number) if abs(number) <= MAX_EXACT_INTEGER else None


def _faults(value: object, pointer: str) -> Iterator[tuple[_Fault, str]]:
    """Yield every fault in document order with its JSON Pointer."""
    if isinstance(value, _Fault):
        yield value, pointer
    elif isinstance(value, str):
        yield from _text_faults(value, pointer)
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _text_faults(key, pointer)
            yield from _faults(member, f"{pointer}/{escape_pointer(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _faults(item, f"{pointer}/{index}")


def _may_hold_bad_text(text: str) -> bool:
    """Whether a walk must look for characters that strings may not hold. Plain ASCII without escapes holds none."""
    if text.isascii() and "\\" not in text and "\x7f" not in text:
        return False
    return _MAY_HOLD_BAD_TEXT.search(text) is not None


def _text_faults(text: str, pointer: str) -> Iterator[tuple[_Fault, str]]:
    bad = _BAD_TEXT.search(text)
    if bad:
        message = f"the text holds U+{ord(bad[0]):04X}, a lone surrogate or control character; leave it out"
        yield _Fault("invalid_unicode", message), pointer


# Writing

_DUMP_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
)


def _plain_dump(value: object, *, nulls: bool) -> bytes | None:
    """Return the RFC 8785 bytes of a value of text, booleans and integers with ASCII keys; None for any other.

    For such values code point order, which orjson has, and UTF-16 order, which RFC 8785 wants, are one.

    Args:
        value: anything.
        nulls: whether None may stand in it, too.
    """
    try:
        dumped = orjson.dumps(value, _built_in, _DUMP_OPTIONS)
    except TypeError:
        return None
    return dumped if _is_plain(value, nulls=nulls, all_ascii=dumped.isascii()) else None


def _is_plain(value: object, *, nulls: bool, all_ascii: bool) -> bool:
    """Whether a value that could be dumped (so it has no cycle) is plain. Exact types first: this is a hot path."""
    pending: list[Iterable[Any]] = [(value,)]
    for items in pending:
        for item in items:
            kind = type(item)
            if kind is str or kind is bool or kind is int:
                continue
            if kind is list:
                pending.append(item)
            elif kind is dict or isinstance(item, Mapping):
                if not (all_ascii or "".join(item).isascii()):
                    return False
                pending.append(item.values())
            elif isinstance(item, Sequence) and not isinstance(item, str):
                pending.append(item)
            elif not (isinstance(item, str | int) or (nulls and item is None)):
                return False
    return True


def _built_in(value: object) -> object:
    """Return a mapping or sequence of any type as the built-in one.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError


def _built_ins(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return {key: _built_ins(member) for key, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [_built_ins(item) for item in value]
    return value
