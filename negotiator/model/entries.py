"""Ledger entries as values. How they become bytes and chain is `ledger/entry.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

__all__ = ["EntryDraft", "EntryKind", "EntryPosition", "EntryValue"]

EntryValue: TypeAlias = "str | bool | int | Sequence[EntryValue] | Mapping[str, EntryValue]"
"""What an entry may hold: no floats, no null, integers within ±(2^53−1), ASCII keys. Absent means left out."""


class EntryKind(StrEnum):
    """What an entry tells of."""

    DECLARE = "declare"
    DECISION = "decision"
    INTENT = "intent"
    OUTCOME = "outcome"
    REPLAY = "replay"
    CONSENT = "consent"
    PROPOSAL = "proposal"
    REVIEW = "review"
    PROMOTION = "promotion"
    PACKAGE = "package"
    TASK = "task"
    EVIDENCE = "evidence"
    POLICY = "policy"
    IDENTITY = "identity"
    ADMIN = "admin"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDraft:
    """An entry before it has a place. The store adds `v epoch index time project prev`.

    Attributes:
        kind: what it tells of.
        members: everything else that is in the hash, by interface name.
    """

    kind: EntryKind
    members: Mapping[str, EntryValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPosition:
    """Where an entry stands: its index from 0 and its RFC 9162 leaf hash in lower-case hex."""

    index: int
    leaf_hash: str

    def as_json(self) -> dict[str, str | int]:
        """Return the member `ledger` of answers."""
        return {"index": self.index, "leaf_hash": self.leaf_hash}
