"""UAI-1 messages: their three encodings, their schemas, and what a declaration says.

`catalog` is what is published, `codec` turns bytes into messages and back, `validation` checks their form, `facts`
reads what a declaration claims. All of it is pure.
"""

from negotiator.messages.catalog import Catalog, FieldOrder, Profile
from negotiator.messages.codec import decode_message, encode_message, message_digest, require_profile
from negotiator.messages.refusals import REFUSALS, finding_of
from negotiator.messages.validation import SchemaCheck, Validator, unknown_body_keys

__all__ = [
    "REFUSALS",
    "Catalog",
    "FieldOrder",
    "Profile",
    "SchemaCheck",
    "Validator",
    "decode_message",
    "encode_message",
    "finding_of",
    "message_digest",
    "require_profile",
    "unknown_body_keys",
]
