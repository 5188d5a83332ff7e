"""The one writer of a process: a thread that turns waiting units into one transaction after another.

Rules:

- It takes what waits, runs it in one batch, commits once, and only then answers: an answer is durable.
- A unit's own failure is its caller's alone. Any other failure fails the whole batch with `ledger_unavailable`,
  and the connection is replaced (`link.py`); while it rests, callers are refused without waiting.
- Where the database refused the data of one unit and gave the batch up, the units run again, each in a batch of its
  own: the one at fault fails alone.
- A commit whose answer was lost is looked up, under the head's lock: where the batch's last entry stands, it was
  committed. What cannot be found out is `UnsureError`.
- Chores run in the same batches when their time has come, and once more at the end if they want to.
- Nothing starts before the first unit (or `start`). `stop` writes what waits, refuses the rest, closes the connection.
- The thread is a daemon: a process that ends without `stop` owes no answer to anybody.

It does not: look at process ids (the store does) or know what units and chores are about.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, Final

from negotiator.errors import UnavailableError, UnsureError
from negotiator.ports import Chore, Clock, Lane, Meter, Tx, Unmetered
from negotiator.store.chores import Agenda
from negotiator.store.database import Database
from negotiator.store.lanes import Lanes
from negotiator.store.link import Link
from negotiator.store.replies import Reply, Result, settle
from negotiator.store.transaction import Batch, TransactionLostError

__all__ = ["STEPS", "Job", "Step", "Writer"]

STEPS: Final = ("units_done", "before_commit", "after_commit")
"""Where a batch calls the hook `step`, for tests that stop or kill the process there."""

Step = Callable[[str], None]

_log = logging.getLogger("negotiator.store")

_IDLE_SECONDS = 1.0
_LOOKUPS = 3


@dataclass(frozen=True, slots=True)
class Job:
    """A unit, who waits for it, and in which lane."""

    unit: Callable[[Tx], Any]
    reply: Reply
    lane: Lane


class _CommitLostError(Exception):
    """COMMIT was sent and no answer came; never leaves the writer."""

    def __init__(self, batch: Batch, results: list[Result]) -> None:
        super().__init__("the answer of a commit was lost")
        self.last_entry = batch.last_entry
        self.results = results


class Writer:
    """Writes the units of one project in one process.

    Args:
        database: where to.
        project: whose head row it locks.
        owner: the random id of this process.
        clock: the wall clock, and the monotonic one for pauses and chores.
        chores: what to do from time to time; the list may grow.
        step: called with each of `STEPS`.
        meter: told of each commit.
    """

    def __init__(
        self,
        *,
        database: Database,
        project: str,
        owner: str,
        clock: Clock,
        chores: Sequence[Chore] = (),
        step: Step | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._database = database
        self._link = Link(database=database, project=project, owner=owner, clock=clock)
        self._agenda = Agenda(chores, clock)
        self._step: Step = step or _no_step
        self._clock = clock
        self._meter: Meter = meter or Unmetered()
        self._lanes: Lanes[Job] = Lanes()
        self._thread: Thread | None = None
        self._starting = Lock()
        self._untidy = False

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue `jobs`; each reply is settled once its batch is durable, or has failed.

        A job that the queue refuses (`Lanes.put`) has its reply settled with the error at once.
        """
        for job in jobs:
            try:
                self._lanes.put(job, job.lane)
            except UnavailableError as refusal:
                settle([(job.reply, Result(error=refusal))])
        if self._thread is None:
            self.start()

    def start(self) -> None:
        """Start the thread, unless it runs already."""
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._write_until_closed, name="negotiator-writer", daemon=True)
                self._thread.start()

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

    @property
    def depths(self) -> Mapping[Lane, int]:
        """How many units wait in each lane."""
        return self._lanes.depths

    def _write_until_closed(self) -> None:
        while True:
            jobs = self._lanes.take(self._database.batch_units, self._patience())
            if not jobs and self._lanes.closed:
                break
            chores = self._agenda.due()
            if jobs or chores:
                self._answer(jobs, chores)
            else:
                self._untidy = False
                self._link.tidy()
        if last := self._agenda.at_stop():
            self._answer([], last)
        self._link.drop()

    def _patience(self) -> float | None:
        """Return for how many seconds to wait for units; None waits for ever."""
        until_chore = self._agenda.seconds_left()
        if not self._untidy:
            return until_chore
        return _IDLE_SECONDS if until_chore is None else min(_IDLE_SECONDS, until_chore)

    def _answer(self, jobs: Sequence[Job], chores: Sequence[Chore]) -> None:
        """Run one batch, answer the callers, and log what became of chores that failed."""
        results = self._results([*jobs, *(Job(chore.unit, Future(), Lane.OUTCOME) for chore in chores)])
        settle([(job.reply, result) for job, result in zip(jobs, results, strict=False)])
        for chore, result in zip(chores, results[len(jobs) :], strict=True):
            if result.error is not None:
                _log.warning("the chore %s was not done: %s", chore.name, result.error)
            elif chore.done is not None:
                chore.done()

    def _results(self, jobs: Sequence[Job]) -> list[Result]:
        if self._link.resting:
            return [_unavailable(None) for _ in jobs]
        try:
            results = self._write(jobs)
        except _CommitLostError as lost:
            return self._found_out(lost)
        except BaseException as problem:  # noqa: BLE001 - whatever it was, every caller is told that nothing is durable
            cause = problem.__cause__ if isinstance(problem, TransactionLostError) else problem
            return self._after_failure(jobs, cause)
        self._link.worked()
        self._untidy = True
        return results

    def _write(self, jobs: Sequence[Job]) -> list[Result]:
        """Run one batch from BEGIN to COMMIT.

        Raises:
            _CommitLostError: from COMMIT on. Anything else comes before it, and nothing is durable.
        """
        began = self._clock.monotonic()
        with self._link.batch() as batch:
            results = [self._result(batch, job) for job in jobs]
            self._step("units_done")
            batch.write_entries()
            self._step("before_commit")
            try:
                batch.commit()
                self._step("after_commit")
            except BaseException as problem:
                raise _CommitLostError(batch, results) from problem
        self._meter.batch(entries=batch.entries, seconds=self._clock.monotonic() - began)
        return results

    def _result(self, batch: Batch, job: Job) -> Result:
        try:
            return Result(value=batch.run(job.unit))
        except TransactionLostError:
            raise
        except self._link.driver_error as problem:
            return _unavailable(problem)
        except Exception as problem:  # noqa: BLE001 - the unit's own; it goes to the unit's caller
            return Result(error=problem)

    def _after_failure(self, jobs: Sequence[Job], problem: BaseException | None) -> list[Result]:
        """Return what the callers of a batch hear of which nothing is durable."""
        if len(jobs) > 1 and problem is not None and self._database.is_data_fault(problem):
            self._link.drop()
            return [result for job in jobs for result in self._results([job])]
        self._link.failed()
        return [_unavailable(problem) for _ in jobs]

    def _found_out(self, lost: _CommitLostError) -> list[Result]:
        """Return what the callers of a batch hear whose commit was not answered."""
        match self._was_committed(lost):
            case True:
                self._link.worked()
                return lost.results
            case False:
                self._link.failed()
                return [_unavailable(lost.__cause__) for _ in lost.results]
            case None:
                self._link.failed()
                return [_unsure(lost.__cause__) for _ in lost.results]

    def _was_committed(self, lost: _CommitLostError) -> bool | None:
        """Look at the ledger on a new connection; None where it cannot be found out."""
        if lost.last_entry is None:
            return None
        index, leaf_hash = lost.last_entry
        for _ in range(_LOOKUPS):
            self._link.drop()
            with suppress(Exception), self._link.batch() as batch:  # the database may be gone: then nobody knows
                found = batch.leaf_hash(index)
                batch.give_up()
                return found == leaf_hash
        return None


def _no_step(_name: str) -> None:
    """Do nothing at a step."""


def _unavailable(problem: BaseException | None) -> Result:
    message = "the ledger cannot be written now; nothing was done, try again"
    error = UnavailableError(message, code="ledger_unavailable")
    error.__cause__ = problem
    return Result(error=error)


def _unsure(problem: BaseException | None) -> Result:
    message = "the ledger did not say whether it was written; ask what became of it before trying again"
    error = UnsureError(message, code="ledger_unavailable")
    error.__cause__ = problem
    return Result(error=error)
