"""The policies in force in this process: one reference, read whole and replaced whole.

Rules:

- Whoever decides takes `engine` once and decides everything of one answer with it, so no answer mixes two bundles.
- A decision names its bundle, and the unit that records it claims that the bundle is still in force: a decision made
  before a replacement and recorded after it is made again.
- Everything that is worked out from a bundle (the answers that an engine remembers, the access matrix) hangs on that
  bundle and goes with it.
- A replacement is in the ledger before it decides anything. What cannot be recorded leaves the old policies in force.
- When `replace` returns, nothing that was decided under the old policies is still to be recorded.

It does not: read files or watch them, or check a bundle (an engine exists only for one that passed).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from threading import Lock
from typing import Any

from negotiator.errors import ClaimFailed, UnavailableError
from negotiator.model.entries import EntryDraft, EntryKind, EntryPosition
from negotiator.model.levels import Level
from negotiator.policy import Approving, Engine, Target
from negotiator.ports import Store, Tx
from negotiator.services.access import access_by_level

__all__ = ["BUNDLE_IN_FORCE", "Policies"]

BUNDLE_IN_FORCE = "bundle_in_force"


class _InForce:
    """An engine and what follows from it."""

    def __init__(self, engine: Engine, surface: Sequence[Target]) -> None:
        self.engine = engine
        self._surface = surface

    @cached_property
    def access(self) -> Mapping[Level, Mapping[str, Any]]:
        return access_by_level(self.engine, self._surface)

    @cached_property
    def approving(self) -> Approving:
        return Approving(self.engine)


class Policies:
    """The policies in force. Safe to share between threads.

    Args:
        engine: the first.
        surface: the configured actions and resources.
    """

    def __init__(self, engine: Engine, *, surface: Sequence[Target]) -> None:
        self._surface = surface
        self._in_force = _InForce(engine, surface)
        self._replacing = Lock()

    @property
    def engine(self) -> Engine:
        """What decides now."""
        return self._in_force.engine

    @property
    def access(self) -> Mapping[Level, Mapping[str, Any]]:
        """What each level may do here, as the policies in force say."""
        return self._in_force.access

    @property
    def approving(self) -> Approving:
        """Who may approve, as the policies in force say."""
        return self._in_force.approving

    def claim(self, engine: Engine) -> None:
        """Claim, inside a unit, that the bundle that a decision was made with is in force.

        It is the one claim about this process rather than about a row: each process has its own reference, and the
        unit runs in the process that decided.

        Raises:
            ClaimFailed: `bundle_in_force`.
        """
        if self._in_force.engine.bundle.digest != engine.bundle.digest:
            raise ClaimFailed(BUNDLE_IN_FORCE)

    def replace(self, engine: Engine, *, store: Store, actor: str) -> bool:
        """Record that `engine` decides from now on, and let it. Blocks: not for an event loop's thread.

        Args:
            engine: of a bundle that was checked.
            store: where the change is recorded.
            actor: the user of this host who made it.

        Returns:
            Whether anything changed; a bundle of the same digest is in force already.

        Raises:
            UnavailableError: it could not be recorded; the old policies stay in force.
        """
        with self._replacing:
            old = self._in_force.engine
            if old.bundle.digest == engine.bundle.digest:
                return False
            store.transact_sync(_recorded(old, engine, actor))
            self._in_force = _InForce(engine, self._surface)
            _wait_for_units_under_way(store)
            return True


def _recorded(old: Engine, new: Engine, actor: str) -> Callable[[Tx], EntryPosition]:
    """Return the unit that says which bundle takes which one's place."""
    draft = EntryDraft(
        kind=EntryKind.POLICY,
        members={
            "decision": "allow",
            "code": "bundle_replaced",
            "actor": {"type": "Host", "id": actor},
            "old_bundle_digest": old.bundle.digest,
            "bundle_digest": new.bundle.digest,
            "engine": new.name,
        },
    )
    return lambda tx: tx.append(draft)


def _wait_for_units_under_way(store: Store) -> None:
    """Return when every unit that claimed the old bundle is committed or refused: the writer takes one batch at a time.

    A failure of this unit says so as well as its success: the batches before it have ended.
    """

    def nothing(_tx: Tx) -> None:
        """Pass through the writer."""

    with suppress(UnavailableError):
        store.transact_sync(nothing)
