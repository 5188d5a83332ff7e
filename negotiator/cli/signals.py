"""The kill switch by signal: SIGUSR1 stops agents, SIGUSR2 lets them in again.

- Each sets what it says, so that a signal that comes twice, or to several processes of one site, does not undo itself.
- The handler only notes the wish. A thread of its own carries wishes out, in their order: files and the ledger are no
  work for a signal handler.
- What cannot be done is logged, and the server goes on.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from types import FrameType
from typing import Final, Protocol

from negotiator.errors import NegotiatorError

__all__ = ["KILL_SWITCH_SIGNALS", "Turn", "kill_switch_signals"]

KILL_SWITCH_SIGNALS: Final[Mapping[signal.Signals, bool]] = {signal.SIGUSR1: True, signal.SIGUSR2: False}
"""Signal to whether it turns the switch on."""

_log = logging.getLogger("negotiator.kill_switch")

_WAIT_SECONDS = 10.0


class Turn(Protocol):
    """Turns the kill switch."""

    def __call__(self, *, on: bool) -> None:
        """Turn it on or off; blocks."""
        ...


@contextmanager
def kill_switch_signals(turn: Turn) -> Iterator[None]:
    """Let signals turn the kill switch meanwhile. Only for the main thread; wishes that came are carried out first."""
    wishes: SimpleQueue[bool | None] = SimpleQueue()
    worker = Thread(target=_carry_out, args=(wishes, turn), name="negotiator-kill-switch", daemon=True)
    worker.start()
    before = {each: signal.signal(each, _noting(wishes, on=on)) for each, on in KILL_SWITCH_SIGNALS.items()}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        wishes.put(None)
        worker.join(_WAIT_SECONDS)


def _noting(wishes: SimpleQueue[bool | None], *, on: bool) -> Callable[[int, FrameType | None], None]:
    def note(*_: object) -> None:
        wishes.put(on)

    return note


def _carry_out(wishes: SimpleQueue[bool | None], turn: Turn) -> None:
    while (on := wishes.get()) is not None:
        word = "on" if on else "off"
        _log.warning("the kill switch is turned %s by a signal", word)
        try:
            turn(on=on)
        except NegotiatorError as error:
            _log.error("turning the kill switch %s: %s: %s", word, error.code, error.message)
        except Exception:  # noqa: BLE001 - the next wish must be heard whatever became of this one
            _log.exception("turning the kill switch %s failed", word)
