"""Open exchanges that end when what they stand on does: sockets, and answers that flow.

Rules:

- One task asks about all that are open, while there are any, every `check_seconds`; one question for all of them.
- A standing that is lost cancels the site's call in its own task and leaves `ExchangeEnded`; what that means for a
  socket or an answer is its caller's affair.
- Two questions in a row without an answer end all of them: nobody stays about whom we can no longer ask. A question
  may take a second, so with a check each second an exchange outlives its standing by four seconds at most.
- An answer that is complete is left alone: the site's background work goes on.

It does not know stores, sockets or outcomes. One event loop per process is assumed, as ASGI servers have it.
"""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Self

from negotiator.model.governed import Standing
from negotiator.web.enforcement_port import Gateway

__all__ = ["Exchange", "ExchangeEnded", "LiveExchanges"]

_QUESTION_SECONDS = 1.0
_UNANSWERED = 2

_log = logging.getLogger(__name__)


class ExchangeEnded(RuntimeError):  # noqa: N818 - it is an event, not a fault
    """We have ended an exchange; `code` is the problem code of the reason."""

    def __init__(self, *, code: str) -> None:
        super().__init__(f"ended: what the exchange stood on no longer holds ({code})")
        self.code = code


class Exchange:
    """One call of the site, as a context; raises `ExchangeEnded` where we have ended it.

    Attributes:
        standing: what it stands on; without one it is never ended.
        code: why it was ended; empty while it is not.
    """

    def __init__(self, live: LiveExchanges, standing: Standing | None) -> None:
        self._live = live
        self._cut = asyncio.timeout(None)
        self.standing = standing
        self.code = ""

    def watch(self) -> None:
        """Say that from now on the exchange is open: its standing has to hold."""
        if self.standing is not None:
            self._live.add(self)

    def leave(self) -> None:
        """Say that it is complete."""
        self._live.discard(self)

    def end(self, *, code: str) -> None:
        """Cancel the site's call."""
        self.code = code
        self._cut.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> Self:
        await self._cut.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
        try:
            await self._cut.__aexit__(kind, error, trace)
        except TimeoutError:
            raise ExchangeEnded(code=self.code) from None
        if self.code and (error is None or isinstance(error, Exception)):
            raise ExchangeEnded(code=self.code) from error


class LiveExchanges:
    """The exchanges that are open in this process.

    Args:
        gateway: for its standings, asked for at each question, so that nothing has to be open before the first.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._open: set[Exchange] = set()
        self._watch: asyncio.Task[None] | None = None

    def exchange(self, standing: Standing | None) -> Exchange:
        """Return the context for one call of the site."""
        return Exchange(self, standing)

    def add(self, exchange: Exchange) -> None:
        """Ask about the exchange from now on."""
        self._open.add(exchange)
        if self._watch is None:
            self._watch = asyncio.ensure_future(self._ask_on())

    def discard(self, exchange: Exchange) -> None:
        """Ask about it no longer."""
        self._open.discard(exchange)
        if not self._open and self._watch is not None:
            self._watch.cancel()
            self._watch = None

    async def _ask_on(self) -> None:
        unanswered = 0
        while self._open:
            await asyncio.sleep(self._gateway.standing_check_seconds)
            unanswered = 0 if await self._ask() else unanswered + 1
            if unanswered >= _UNANSWERED:
                for exchange in tuple(self._open):
                    self._end(exchange, code="store_unavailable")
        self._watch = None

    async def _ask(self) -> bool:
        """End what has lost its standing; return whether there was an answer."""
        held = {exchange.standing for exchange in self._open if exchange.standing is not None}
        try:
            async with asyncio.timeout(_QUESTION_SECONDS):
                lost = await self._gateway.standings.lost(held)
        except Exception:  # noqa: BLE001 - whatever kept us from asking; without answers all are ended
            _log.warning("cannot ask whether open sockets and streams may stay open", exc_info=True)
            return False
        for exchange in tuple(self._open):
            if exchange.standing is not None and (code := lost.get(exchange.standing)):
                self._end(exchange, code=code)
        return True

    def _end(self, exchange: Exchange, *, code: str) -> None:
        self._open.discard(exchange)
        exchange.end(code=code)
