"""One allowed request at the site: what the site receives, what it sends, and who watches the client.

Rules:

- The site is called in the caller's own task: context variables and background tasks are untouched.
- After the body one watcher owns the server's `receive`; the site's `receive` gives the body once and then waits for
  the watcher. A disconnect after the completing message is no event.
- An effect's outcome is recorded however the site ends: `answer` says when. A cancelled request records `aborted`.
- An answer that flows is cut off when what its caller stands on no longer holds (`live`).
- Without an effect the answer only gets our headers. A site that raises before its head gets our 500 with the
  decision's id; then the exception goes on.

It does not decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from negotiator.model.governed import GovernedRequest, Outcome, Refusal, Verdict
from negotiator.web.answer import AnswerGuard
from negotiator.web.body import FlowingBody, WholeBody
from negotiator.web.enforcement_port import Enforcement
from negotiator.web.headers import answer_headers, decorated, governed_scope, has_header
from negotiator.web.live import Exchange, ExchangeEnded, LiveExchanges
from negotiator.web.problems import ProblemPages

__all__ = ["Admitted", "ClientWatch", "GivenBody", "OutcomeTasks", "SiteCalls", "finished"]

_log = logging.getLogger(__name__)

_DETAILS = {
    "site_error": "the site failed before its answer was complete",
    "outcome_unknown": "the site was called, but how it ended could not be recorded",
    "body_too_large": "the body is larger than this route takes",
}
"""What we say in the site's place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A request that goes to the site.

    Attributes:
        scope: the server's.
        request: what was decided on.
        verdict: `proceed`.
        body: as it was read; None where it flows.
    """

    scope: Scope
    request: GovernedRequest
    verdict: Verdict
    body: WholeBody | None


class OutcomeTasks:
    """Outcomes that are being written. Held here, so that neither a cancelled request nor the collector ends one."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, writing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `writing` to its end, whoever waits for it."""
        task = asyncio.ensure_future(writing)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def drained(self) -> None:
        """Return when none is left."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("an outcome could not be recorded; its intent stays open", exc_info=task.exception())


class ClientWatch:
    """Owns the server's `receive` once the body has ended, to notice that the client leaves."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._task: asyncio.Task[None] | None = None
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        """Return the server's next message while the body flows; its end starts the watch."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.gone.set()
        elif not message.get("more_body", False):
            self.start()
        return message

    async def disconnected(self) -> Message:
        """Return once the client has left: what a site receives after the body."""
        await self.gone.wait()
        return {"type": "http.disconnect"}

    def start(self) -> None:
        """Begin to watch."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._watch())

    async def stop(self) -> None:
        """Let the server's `receive` go."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        """Wait for the disconnect. A `receive` that fails has lost the client, too."""
        try:
            while (await self._receive())["type"] != "http.disconnect":
                pass
        except Exception:  # noqa: BLE001 - the server's code; without it the client cannot be watched
            _log.exception("the server's receive failed; the client is taken to be gone")
        self.gone.set()


class _Incoming(Protocol):
    """What the site receives from. `over_limit`: more came than may."""

    over_limit: bool

    async def receive(self) -> Message: ...


class GivenBody:
    """Hands a body that was read on, once; then `afterwards` answers."""

    over_limit = False

    def __init__(self, body: WholeBody, *, afterwards: Receive) -> None:
        self._messages = body.messages()
        self._afterwards = afterwards

    async def receive(self) -> Message:
        """Return the next message: the site's `receive`."""
        message = await anext(self._messages, None)
        return message if message is not None else await self._afterwards()


class _PlainAnswer:
    """The site's `send` where nothing waits for an outcome: adds our headers to the start."""

    def __init__(self, send: Send, admitted: Admitted, incoming: _Incoming, exchange: Exchange) -> None:
        self._send = send
        self._exchange = exchange
        self._admitted = admitted
        self._incoming = incoming
        self.started = False

    async def __call__(self, message: Message) -> None:
        if self._incoming.over_limit and not self.started:
            return
        if message["type"] == "http.response.start":
            self.started = True
            message = decorated(message, self._admitted.verdict, self._admitted.request.cache)
            if not has_header(message, b"content-length"):
                self._exchange.watch()
        elif message.get("more_body", False):
            self._exchange.watch()
        else:
            self._exchange.leave()
        await self._send(message)


class SiteCalls:
    """Calls the site.

    Args:
        app: the site.
        problems: for answers in its place.
        outcomes: outcomes under way.
        live: answers that flow.
    """

    def __init__(self, app: ASGIApp, problems: ProblemPages, outcomes: OutcomeTasks, live: LiveExchanges) -> None:
        self._app = app
        self._problems = problems
        self._outcomes = outcomes
        self._live = live

    async def call(self, admitted: Admitted, enforcement: Enforcement, receive: Receive, send: Send) -> None:
        """Let the site answer; return or raise as it does."""
        if admitted.verdict.intent_open:
            await self._effect(admitted, enforcement, receive, send)
        else:
            await self._plain(admitted, receive, send)

    async def _plain(self, admitted: Admitted, receive: Receive, send: Send) -> None:
        incoming = _incoming(admitted, receive, afterwards=receive)
        exchange = self._live.exchange(admitted.verdict.standing)
        answer = _PlainAnswer(send, admitted, incoming, exchange)
        try:
            async with exchange:
                await self._app(governed_scope(admitted.scope, admitted.verdict.decision_id), incoming.receive, answer)
        except Exception:
            if not answer.started:
                code = "body_too_large" if incoming.over_limit else "site_error"
                await self.own_answer(admitted, code)(admitted.scope, receive, send)
            if not incoming.over_limit or answer.started:
                raise
        else:
            if incoming.over_limit and not answer.started:
                await self.own_answer(admitted, "body_too_large")(admitted.scope, receive, send)

    async def _effect(self, admitted: Admitted, enforcement: Enforcement, receive: Receive, send: Send) -> None:
        watch = ClientWatch(receive)
        incoming = _incoming(admitted, watch.receive, afterwards=watch.disconnected)
        exchange = self._live.exchange(admitted.verdict.standing)
        guard = self._guard(admitted, enforcement, send, watch=watch, exchange=exchange, incoming=incoming)
        if admitted.body is not None:
            watch.start()
        try:
            async with exchange:
                await self._app(governed_scope(admitted.scope, admitted.verdict.decision_id), incoming.receive, guard)
        except ExchangeEnded:
            guard.cut()
            raise
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):  # a failed outcome is logged by its task; the cancellation goes on
                await guard.abort()
            raise
        except Exception:
            await guard.settle(failed=True)
            raise
        else:
            await guard.settle(failed=False)
        finally:
            await watch.stop()

    def _guard(
        self,
        admitted: Admitted,
        enforcement: Enforcement,
        send: Send,
        *,
        watch: ClientWatch,
        exchange: Exchange,
        incoming: _Incoming,
    ) -> AnswerGuard:
        verdict, cache = admitted.verdict, admitted.request.cache

        def write(outcome: Outcome) -> asyncio.Task[None]:
            return self._outcomes.start(finished(enforcement, verdict, outcome))

        return AnswerGuard(
            scope=admitted.scope,
            send=send,
            gone=watch.gone,
            exchange=exchange,
            write=write,
            decorate=lambda start: decorated(start, verdict, cache),
            own_answer=lambda code: self.own_answer(admitted, code),
            stopped=lambda: incoming.over_limit or bool(exchange.code),
            keeps=verdict.keeps,
        )

    def own_answer(self, admitted: Admitted, code: str) -> Response:
        """Return what is answered in the site's place."""
        decision_id = admitted.verdict.decision_id
        return self._problems.refusal(
            admitted.scope,
            Refusal(code=code, detail=_DETAILS[code], decision_id=decision_id),
            trace_id=admitted.request.presented.trace_id,
            headers={name.decode(): value.decode("latin-1") for name, value in answer_headers(admitted.verdict)},
            after_effect=True,
        )


async def finished(enforcement: Enforcement, verdict: Verdict, outcome: Outcome) -> None:
    """Record an outcome."""
    await enforcement.finish(verdict, outcome)


def _incoming(admitted: Admitted, receive: Receive, *, afterwards: Receive) -> _Incoming:
    if admitted.body is not None:
        return GivenBody(admitted.body, afterwards=afterwards)
    return FlowingBody(receive, limit=admitted.request.rule.max_body_bytes, afterwards=afterwards)
