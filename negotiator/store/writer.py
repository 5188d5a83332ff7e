"""The one writer of a process: a thread that turns waiting units into one transaction after another.

Rules:

- It takes what waits, runs it in one batch, commits once, and only then answers: an answer is durable.
- A unit's own failure is its caller's alone. Any other failure fails the whole batch with `ledger_unavailable`,
  and the connection is replaced; the next batch tries at once, after further failures with growing pauses
  (0.1 to 2 s) in which callers are refused without waiting.
- Nothing starts before the first unit. `stop` writes what waits, refuses the rest, and closes the connection.
- The thread is a daemon: a process that ends without `stop` owes no answer to anybody.

It does not: look at process ids (the store does), retry a unit, or guess what became of a lost COMMIT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, Final

from sqlalchemy import Engine, PoolProxiedConnection

from negotiator.errors import UnavailableError
from negotiator.ports import Clock, Lane, Tx
from negotiator.store.hot import Hot
from negotiator.store.lanes import Lanes
from negotiator.store.replies import Reply, Result, settle
from negotiator.store.transaction import Batch, TransactionLostError

__all__ = ["STEPS", "Job", "Step", "Writer"]

STEPS: Final = ("units_done", "before_commit", "after_commit")
"""Where a batch calls the hook `step`, for tests that stop or kill the process there."""

Step = Callable[[str], None]

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Job:
    """A unit and who waits for it."""

    unit: Callable[[Tx], Any]
    reply: Reply


class Writer:
    """Writes the units of one project in one process.

    Args:
        engine: a writing engine that keeps no connections.
        project: whose head row it locks.
        owner: the random id of this process.
        clock: the wall clock, and the monotonic one for the pauses.
        step: called with each of `STEPS`.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        project: str,
        owner: str,
        clock: Clock,
        step: Step | None = None,
    ) -> None:
        self._engine = engine
        self._hot = Hot(engine.dialect)
        self._project = project
        self._owner = owner
        self._clock = clock
        self._step: Step = step or _no_step
        self._lanes: Lanes[Job] = Lanes()
        self._thread: Thread | None = None
        self._starting = Lock()
        self._connection: PoolProxiedConnection | None = None
        self._failures = 0
        self._not_before = float("-inf")

    def submit(self, job: Job, lane: Lane) -> None:
        """Queue `job`; its reply is settled once the batch is durable, or has failed.

        Raises:
            UnavailableError: as `Lanes.put` does; then the reply is never settled.
        """
        self._lanes.put(job, lane)
        if self._thread is None:
            self._start()

    def stop(self, timeout_seconds: float) -> None:
        """Refuse newcomers, write what waits, and end."""
        self._lanes.close()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(timeout_seconds)

    @property
    def stopped(self) -> bool:
        """Whether newcomers are refused."""
        return self._lanes.closed

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._write_until_closed, name="negotiator-writer", daemon=True)
                self._thread.start()

    def _write_until_closed(self) -> None:
        while jobs := self._lanes.take():
            settle(self._answers(jobs))
        self._drop_connection()

    def _answers(self, jobs: Sequence[Job]) -> list[tuple[Reply, Result]]:
        return [(job.reply, result) for job, result in zip(jobs, self._results(jobs), strict=True)]

    def _results(self, jobs: Sequence[Job]) -> list[Result]:
        if self._clock.monotonic() < self._not_before:
            return [_unavailable(None) for _ in jobs]
        try:
            results = self._write(jobs)
        except BaseException as problem:  # noqa: BLE001 - whatever it was, every caller is told that nothing is durable
            self._back_off()
            return [_unavailable(problem) for _ in jobs]
        self._failures = 0
        return results

    def _write(self, jobs: Sequence[Job]) -> list[Result]:
        """Run one batch from BEGIN to COMMIT."""
        batch = Batch(self._connected(), self._hot, project=self._project, owner=self._owner, clock=self._clock)
        batch.begin()
        results = [self._result(batch, job) for job in jobs]
        self._step("units_done")
        batch.write_entries()
        self._step("before_commit")
        batch.commit()
        self._step("after_commit")
        return results

    def _result(self, batch: Batch, job: Job) -> Result:
        try:
            return Result(value=batch.run(job.unit))
        except TransactionLostError:
            raise
        except self._engine.dialect.loaded_dbapi.Error as problem:
            return _unavailable(problem)
        except Exception as problem:  # noqa: BLE001 - the unit's own; it goes to the unit's caller
            return Result(error=problem)

    def _connected(self) -> PoolProxiedConnection:
        if self._connection is None:
            self._connection = self._engine.raw_connection()
            self._connection.detach()
        return self._connection

    def _back_off(self) -> None:
        self._drop_connection()
        pause = _FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1) if self._failures else 0.0
        self._not_before = self._clock.monotonic() + min(pause, _LONGEST_PAUSE_SECONDS)
        self._failures = min(self._failures + 1, 10)

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it is being thrown away because it is broken
                connection.close()


def _no_step(_name: str) -> None:
    """Do nothing at a step."""


def _unavailable(problem: BaseException | None) -> Result:
    message = "the ledger cannot be written now; nothing was done, try again"
    error = UnavailableError(message, code="ledger_unavailable")
    error.__cause__ = problem
    return Result(error=error)
