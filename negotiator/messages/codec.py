"""Messages as bytes: three encodings, one value, one digest.

Rules:

- Keyed: one object with the full field names. Minified: the same without white space outside strings; that is also
  how the two are told apart when they arrive (white space before and after the message does not count).
- Keyless: arrays in the order of the field registry. Only the envelope and bodies with a registered order become
  arrays. `null` is absence. The envelope has 9 to 12 slots and is written without its empty tail; every other order
  is whole.
- What has no slot has no keyless form: a key outside the order, a null, a body that is no object. It is refused, not
  dropped, so that every conversion that succeeds can be undone.
- The digest is the SHA-256 of the RFC 8785 form of the keyed form without `integrity.checksum`; an `integrity` that
  this empties is left out.

It does not: check members against a schema (`validation` does), or say what a message means (`facts` does).

Source: CAP-09 to CAP-13; RFC 8785.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson

from negotiator.canonical import MAX_BODY_BYTES, JsonValue, decode_json, digest, escape_pointer
from negotiator.errors import NegotiatorError, RequestError, quoted
from negotiator.messages.aliases import alias_in_body, alias_in_envelope
from negotiator.messages.catalog import Catalog, FieldOrder
from negotiator.model.messages import Encoding, Message

__all__ = ["decode_message", "encode_message", "message_digest", "require_profile"]


def decode_message(data: bytes, catalog: Catalog, *, max_bytes: int = MAX_BODY_BYTES) -> Message:
    """Return the message that `data` holds, in whichever encoding.

    Args:
        data: one message.
        catalog: the known profiles and field orders.
        max_bytes: longest message that is looked at.

    Raises:
        RequestError: a code of `refusals.REFUSALS`. No other exception escapes.
    """
    value = decode_json(data, max_bytes=max_bytes)
    if isinstance(value, list):
        return _message(_keyed_of_slots(value, catalog), catalog, "keyless")
    if isinstance(value, dict):
        _check_keys(value, catalog.envelope)
        return _message(value, catalog, "minified" if _is_minified(data) else "keyed")
    message = f"a message is an object or an array, not {quoted(value)}"
    raise RequestError(message, code="not_a_message", pointer="")


def encode_message(message: Message | Mapping[str, Any], encoding: Encoding, catalog: Catalog) -> bytes:
    """Return a message in one of the three encodings.

    Args:
        message: a message, or its keyed form.
        encoding: the encoding wanted.
        catalog: the known field orders.

    Raises:
        RequestError: `keyless_shape`, where something has no slot; `unknown_profile` or `not_a_message`, where the
            profile of the body is needed and unknown.
        NegotiatorError: `not_canonical`, where the keyed form is no JSON value.
    """
    keyed = message.keyed if isinstance(message, Message) else message
    value = _slots_of_keyed(keyed, catalog) if encoding == "keyless" else keyed
    try:
        return orjson.dumps(value, default=dict, option=orjson.OPT_INDENT_2 if encoding == "keyed" else None)
    except TypeError as problem:
        text = f"the message is no JSON value: {quoted(problem)}"
        raise NegotiatorError(text, code="not_canonical") from None


def message_digest(keyed: Mapping[str, Any]) -> str:
    """Return the lower-case hex SHA-256 that a message has in all three encodings."""
    integrity = keyed.get("integrity")
    if not isinstance(integrity, Mapping) or "checksum" not in integrity:
        return digest(keyed)
    rest = {name: member for name, member in integrity.items() if name != "checksum"}
    outside = {name: member for name, member in keyed.items() if name != "integrity"}
    return digest(outside | {"integrity": rest} if rest else outside)


def require_profile(message: Message, accepted: Collection[str]) -> None:
    """Refuse a message whose profile is known, but not what is expected here.

    Raises:
        RequestError: `unknown_profile`.
    """
    if message.profile not in accepted:
        text = f"the profile {quoted(message.profile)} is not accepted here; send {' or '.join(sorted(accepted))}"
        raise RequestError(text, code="unknown_profile", pointer="/profile")


def _message(keyed: dict[str, JsonValue], catalog: Catalog, encoding: Encoding) -> Message:
    profile = _profile_id(keyed, catalog)
    if "body" not in keyed:
        text = "the message has no `body`"
        raise RequestError(text, code="not_a_message", pointer="/body")
    order = catalog.profiles[profile].order
    if order is not None:
        _check_body_keys(keyed["body"], order)
    return Message(profile=profile, keyed=keyed, encoding=encoding, digest=message_digest(keyed))


def _profile_id(keyed: Mapping[str, Any], catalog: Catalog) -> str:
    profile = keyed.get("profile")
    if not isinstance(profile, str):
        text = "the message has no `profile`, or one that is no text"
        raise RequestError(text, code="not_a_message", pointer="/profile")
    if profile not in catalog.profiles:
        text = f"the profile {quoted(profile)} is not a published one"
        raise RequestError(text, code="unknown_profile", pointer="/profile")
    return profile


# Keyed


def _is_minified(data: bytes) -> bool:
    """Whether a valid JSON text has no white space outside its strings (around it does not count)."""
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_strings = b"".join(unescaped.split(b'"')[::2])
    return len(outside_strings.split()) == 1


def _check_keys(keyed: Mapping[str, Any], order: FieldOrder) -> None:
    unknown = next((key for key in keyed if key not in order.fields), None)
    if unknown is None:
        return
    field = alias_in_envelope(unknown, order.fields)
    if field is not None:
        raise _alias(unknown, field, "")
    text = f"a message has no member {quoted(unknown)}; put members of your own under `extensions`"
    raise RequestError(text, code="unknown_field", pointer=f"/{escape_pointer(unknown)}")


def _check_body_keys(body: JsonValue, order: FieldOrder) -> None:
    if not isinstance(body, dict):
        return
    for key in body:
        field = None if key in order.fields else alias_in_body(key, order.fields)
        if field is not None:
            raise _alias(key, field, "/body")


def _alias(key: str, field: str, under: str) -> RequestError:
    text = f"{quoted(key)} is no field; write `{field}`"
    return RequestError(text, code="unsupported_alias", pointer=f"{under}/{escape_pointer(key)}")


# Keyless


def _keyed_of_slots(slots: list[JsonValue], catalog: Catalog) -> dict[str, JsonValue]:
    keyed = _named(slots, catalog.envelope, "")
    order = catalog.profiles[_profile_id(keyed, catalog)].order
    body = keyed.get("body")
    if isinstance(body, list) and order is not None:
        keyed["body"] = _named(body, order, f"/{_slot(catalog.envelope, 'body')}")
    elif body is not None and (order is not None or not isinstance(body, dict)):
        text = "the body of this profile is an " + ("object" if order is None else "array") + " in a keyless message"
        raise RequestError(text, code="keyless_shape", pointer=f"/{_slot(catalog.envelope, 'body')}")
    return keyed


def _named(slots: Sequence[JsonValue], order: FieldOrder, pointer: str) -> dict[str, JsonValue]:
    if len(slots) > len(order.fields):
        text = f"the {order.name} has {len(slots)} slots; its order has {len(order.fields)}"
        raise RequestError(text, code="keyless_overflow", pointer=f"{pointer}/{len(order.fields)}")
    if len(slots) < order.min_slots:
        text = f"the {order.name} has {len(slots)} slots; its order needs {order.min_slots}"
        raise RequestError(text, code="keyless_shape", pointer=pointer)
    return {field: slot for field, slot in zip(order.fields, slots, strict=False) if slot is not None}


def _slots_of_keyed(keyed: Mapping[str, Any], catalog: Catalog) -> list[Any]:
    slots = _slots(keyed, catalog.envelope, "")
    order = catalog.profiles[_profile_id(keyed, catalog)].order
    body = keyed.get("body")
    if not isinstance(body, Mapping):
        text = "a body that is no object has no keyless form"
        raise RequestError(text, code="keyless_shape", pointer="/body")
    if order is not None:
        slots[_slot(catalog.envelope, "body")] = _slots(body, order, "/body")
    while len(slots) > catalog.envelope.min_slots and slots[-1] is None:
        slots.pop()
    return slots


def _slots(members: Mapping[str, Any], order: FieldOrder, pointer: str) -> list[Any]:
    for key, member in members.items():
        if key not in order.fields or member is None:
            text = f"the member {quoted(key)} has no keyless form; leave it out or send the keyed form"
            raise RequestError(text, code="keyless_shape", pointer=f"{pointer}/{escape_pointer(key)}")
    return [members.get(field) for field in order.fields]


def _slot(order: FieldOrder, field: str) -> int:
    return order.fields.index(field)
