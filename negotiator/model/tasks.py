"""Long tasks: work that runs elsewhere, followed here from its beginning to its report.

| state | what it says |
| --- | --- |
| accepted, running, blocked | the agent is at it |
| completed, failed, cancelled | the agent says that it is done with it; the final report is awaited |
| timed_out | the working time is over; the final report is awaited |
| closed | the final report is in |
| expired | the time is over and the agent never said how it went |
| unreported | it had ended, and its time went by without a final report |

`TRANSITIONS` is the whole machine. Its time: `timeout_ms` from the beginning is for the work, `expires_at` for the
report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from negotiator.model.times import format_time

__all__ = [
    "ACTIVE",
    "ENDED",
    "FINISHED",
    "PROGRESS_OF",
    "TRANSITIONS",
    "Task",
    "TaskEvent",
    "TaskState",
    "due_at",
    "next_state",
]


class TaskState(StrEnum):
    """Where a task stands."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    CLOSED = "closed"
    EXPIRED = "expired"
    UNREPORTED = "unreported"


class TaskEvent(StrEnum):
    """What moves a task: the five statuses that an agent sends, its report, and time."""

    RUNNING = "running"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REPORT = "report"
    TIMEOUT = "timeout"
    EXPIRE = "expire"


ACTIVE: Final = (TaskState.ACCEPTED, TaskState.RUNNING, TaskState.BLOCKED)
FINISHED: Final = (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)
ENDED: Final = frozenset({TaskState.CLOSED, TaskState.EXPIRED, TaskState.UNREPORTED})

_WORKING: Final[Mapping[TaskEvent, TaskState]] = {
    TaskEvent.RUNNING: TaskState.RUNNING,
    TaskEvent.BLOCKED: TaskState.BLOCKED,
    TaskEvent.COMPLETED: TaskState.COMPLETED,
    TaskEvent.FAILED: TaskState.FAILED,
    TaskEvent.CANCELLED: TaskState.CANCELLED,
    TaskEvent.REPORT: TaskState.CLOSED,
    TaskEvent.TIMEOUT: TaskState.TIMED_OUT,
    TaskEvent.EXPIRE: TaskState.EXPIRED,
}
_AWAITED: Final[Mapping[TaskEvent, TaskState]] = {
    TaskEvent.REPORT: TaskState.CLOSED,
    TaskEvent.EXPIRE: TaskState.UNREPORTED,
}

TRANSITIONS: Final[Mapping[TaskState, Mapping[TaskEvent, TaskState]]] = MappingProxyType(
    {
        **dict.fromkeys(ACTIVE, _WORKING),
        **dict.fromkeys((*FINISHED, TaskState.TIMED_OUT), _AWAITED),
        **dict.fromkeys(ENDED, MappingProxyType({})),
    }
)
"""State to event to the state that follows. What is not here is refused and moves nothing."""

PROGRESS_OF: Final[Mapping[TaskState, tuple[int, int]]] = MappingProxyType(
    {
        TaskState.RUNNING: (0, 99),
        TaskState.BLOCKED: (0, 99),
        TaskState.COMPLETED: (100, 100),
        TaskState.FAILED: (0, 100),
        TaskState.CANCELLED: (0, 100),
    }
)
"""The progress, in per cent, that agrees with each state that an agent may send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task and how far it has come.

    Attributes:
        decision_id: of the decision that let it begin.
        progress: in per cent, as the agent said; None until it says.
        note: the agent's own words of its last status; a quote.
        fallback: what the agent does where the task does not come to its end; a quote.
        outcome: of the final report; empty until it is in.
        report_id: evidence id of the final report; empty until it is in.
        due_at: when time moves it next; None once it has ended.
    """

    task_id: str
    decision_id: str
    subject: str
    correlation_id: str
    state: TaskState
    progress: int | None
    note: str
    timeout_ms: int
    fallback: str
    outcome: str
    report_id: str
    created_at: datetime
    changed_at: datetime
    expires_at: datetime
    due_at: datetime | None
    ended_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        """Return the members of an answer; absent means null."""
        return {
            "task_id": self.task_id,
            "state": self.state.value,
            "progress": self.progress,
            "note": self.note,
            "correlation_id": self.correlation_id,
            "timeout_ms": self.timeout_ms,
            "fallback": self.fallback,
            "outcome": self.outcome or None,
            "final_report": self.report_id or None,
            "decision_id": self.decision_id,
            "created_at": format_time(self.created_at),
            "changed_at": format_time(self.changed_at),
            "expires_at": format_time(self.expires_at),
            "due_at": format_time(self.due_at) if self.due_at else None,
            "ended_at": format_time(self.ended_at) if self.ended_at else None,
        }


def next_state(state: TaskState, event: TaskEvent) -> TaskState | None:
    """Return the state that follows; None where the event has no business there."""
    return TRANSITIONS[state].get(event)


def due_at(state: TaskState, *, created_at: datetime, timeout_ms: int, expires_at: datetime) -> datetime | None:
    """Return when time moves a task in that state next; None for one that has ended."""
    if state in ENDED:
        return None
    return min(created_at + timedelta(milliseconds=timeout_ms), expires_at) if state in ACTIVE else expires_at
