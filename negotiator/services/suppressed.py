"""Refusals that have no entry of their own: counted, and written as one `suppressed` entry a minute.

Rules:

- A source's first refusals in a minute have entries; what is more is counted by code and network. So is every 429.
- Nothing is dropped uncounted: what was not written stays and is written the next time, and once more at the stop.
  After a commit that nobody could find out about it may be counted twice, never not at all.
- The table is bounded: when it is full, further networks are counted together as `other`.
"""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import Final

from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.sources import network_of
from negotiator.ports import Chore, Tx

__all__ = ["EVERY_SECONDS", "Suppressed"]

EVERY_SECONDS: Final = 60.0

_MAX_ROWS = 500
_OTHER = "other"


class Suppressed:
    """The counts of one process. Counted on the event loop, written on the writer's thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._writing: Counter[tuple[str, str]] = Counter()

    @property
    def chore(self) -> Chore:
        """What the store attends to."""
        return Chore(name="suppressed", every_seconds=EVERY_SECONDS, unit=self._write, done=self._written, at_stop=True)

    def suppress(self, code: str, source: str) -> None:
        """Count one refusal that has no entry."""
        with self._lock:
            key = code, network_of(source)
            self._counts[key if key in self._counts or len(self._counts) < _MAX_ROWS else (code, _OTHER)] += 1

    def waiting(self) -> int:
        """Return how many refusals are counted and not written yet."""
        with self._lock:
            return self._counts.total() + self._writing.total()

    def _write(self, tx: Tx) -> None:
        """The unit. It may run again, and then writes the same counts and what came since."""
        with self._lock:
            self._writing += self._counts
            self._counts.clear()
            counts = sorted(self._writing.items())
        if counts:
            tx.append(_entry(counts))

    def _written(self) -> None:
        with self._lock:
            self._writing.clear()


def _entry(counts: list[tuple[tuple[str, str], int]]) -> EntryDraft:
    rows: list[EntryValue] = [{"code": code, "source": network, "count": count} for (code, network), count in counts]
    members: dict[str, EntryValue] = {"decision": "deny", "code": "suppressed", "counts": rows}
    return EntryDraft(kind=EntryKind.SUPPRESSED, members=members)
