"""Ledgers in memory, for tests of the ledger's mathematics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from negotiator.ledger import genesis
from negotiator.model.entries import EntryDraft, EntryKind

START = datetime(2026, 5, 4, tzinfo=UTC)


def chain_of(drafts: Sequence[EntryDraft], project: str = "site") -> list[bytes]:
    """Return the lines of a ledger that holds `drafts`, a second apart."""
    head, lines = genesis(project), []
    for number, each in enumerate(drafts):
        head, placed = head.append(each, now=START + timedelta(seconds=number))
        lines.append(placed.line)
    return lines


def ledger(entries: int, project: str = "site") -> list[bytes]:
    """Return the lines of a ledger with `entries` small entries."""
    drafts = [
        EntryDraft(kind=EntryKind.DECISION, members={"decision_id": f"d{n}", "decision": "deny", "level": n % 7})
        for n in range(entries)
    ]
    return chain_of(drafts, project)
