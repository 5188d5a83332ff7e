"""One ledger entry as bytes. The format is final: what was written once is verified for ever.

Rules:

- An entry's line is the RFC 8785 form of its members, in UTF-8, without a newline. A JSONL export is these lines.
- `v epoch index time project kind prev` are the ledger's; a draft that carries one of them is refused.
- `time` is as `model.times` writes it.
- `prev` is the SHA-256 of the previous line; 64 zeros at index 0.
- The leaf hash is SHA-256(0x00 ‖ line), so that a Merkle tree may stand over the same bytes.
- Absent means that the member is left out: there is no null.

It does not: know what a kind of entry holds, mask anything, or keep anything.

Source: RFC 8785; RFC 9162 section 2.1.1.
"""

from __future__ import annotations

from typing import Final

from negotiator.canonical import entry_bytes, sha256_hex
from negotiator.errors import NegotiatorError
from negotiator.model.entries import EntryDraft

__all__ = [
    "ENTRY_VERSION",
    "MAX_ENTRY_BYTES",
    "RESERVED_MEMBERS",
    "ZERO_HASH",
    "entry_line",
    "leaf_hash",
    "line_hash",
]

ENTRY_VERSION: Final = 1
"""The member `v`. A reader refuses versions that it does not know."""

RESERVED_MEMBERS: Final = frozenset({"v", "epoch", "index", "time", "project", "kind", "prev"})
"""Members that only the ledger sets."""

ZERO_HASH: Final = "0" * 64
"""`prev` of the entry at index 0."""

MAX_ENTRY_BYTES: Final = 262_144
"""Longest line. Bodies are never in an entry, so that an honest one is far below."""


def entry_line(draft: EntryDraft, *, epoch: int, index: int, time: str, project: str, prev: str) -> bytes:
    """Return the canonical bytes of an entry in its place.

    Args:
        draft: what the entry tells; its members carry none of the reserved names.
        epoch: 1, and one more after each restored backup.
        index: from 0.
        time: as `format_time` gives it.
        project: the ledger's project.
        prev: hash of the line before, or `ZERO_HASH`.

    Raises:
        NegotiatorError: `entry_reserved_member`, `entry_not_canonical`, `entry_too_large`.

    Source: LED-01.
    """
    members = draft.members
    entry = {
        **members,
        "v": ENTRY_VERSION,
        "epoch": epoch,
        "index": index,
        "time": time,
        "project": project,
        "kind": draft.kind.value,
        "prev": prev,
    }
    if len(entry) != len(members) + len(RESERVED_MEMBERS):
        taken = ", ".join(sorted(RESERVED_MEMBERS.intersection(members)))
        message = f"an entry's {taken} are set by the ledger; leave them out of the draft"
        raise NegotiatorError(message, code="entry_reserved_member")
    line = entry_bytes(entry)
    if len(line) > MAX_ENTRY_BYTES:
        message = f"the entry has {len(line)} bytes; write at most {MAX_ENTRY_BYTES}"
        raise NegotiatorError(message, code="entry_too_large")
    return line


def line_hash(line: bytes) -> str:
    """Return what the next entry carries as `prev`: lower-case hex SHA-256 of the line without its newline."""
    return sha256_hex(line)


def leaf_hash(line: bytes) -> str:
    """Return the lower-case hex leaf hash of a line.

    Source: RFC 9162 section 2.1.1.
    """
    return sha256_hex(b"\x00" + line)
