"""What operators ask about effects: which are under way, and of which nobody knows how they ended."""

from __future__ import annotations

from collections.abc import Sequence

from negotiator.model.records import Intent
from negotiator.ports import Store

__all__ = ["EffectList"]


class EffectList:
    """Effects of one project, for reading."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def unfinished(self) -> Sequence[Intent]:
        """Return what is under way and what was interrupted, newest first, at most 1,000."""
        return self._store.read_sync(lambda reader: reader.intents.unfinished())
