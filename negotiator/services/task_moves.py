"""How tasks move: what an agent says and what time does, against the machine, inside a unit.

- Time goes first: what an agent says counts for the state that the task has by then.
- What does not follow is refused, and nothing is written.
- Each move is an entry of kind `task`; a task that ends without its report says so (`final_report` false).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from negotiator.errors import RequestError
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.evidence import Evidence, EvidenceLink
from negotiator.model.records import Principal
from negotiator.model.tasks import FINISHED, PROGRESS_OF, Task, TaskEvent, TaskState, due_at, next_state
from negotiator.ports import Chore, Tx

__all__ = ["Change", "applied", "check_names_task", "report_change", "status_change", "sweep_due", "task_sweep"]

_ACTION = "run_task"
_SWEEP_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a status or a report makes of a task."""

    event: TaskEvent
    code: str
    progress: int | None = None
    note: str | None = None
    outcome: str = ""
    report: Evidence | None = None
    named: tuple[str, ...] = ()
    members: Mapping[str, EntryValue] = field(default_factory=dict)


def status_change(body: Mapping[str, Any]) -> Change:
    """Return what a status says.

    Raises:
        RequestError: `task_invalid`: its progress does not agree with its state.
    """
    state, progress = TaskState(body["state"]), body.get("progress")
    least, most = PROGRESS_OF[state]
    if progress is not None and not least <= progress <= most:
        message = f"a progress of {progress} does not agree with {state.value}; it has {least} to {most}"
        raise RequestError(message, code="task_invalid", pointer="/body/progress")
    return Change(event=TaskEvent(state.value), code="task_status", progress=progress, note=str(body.get("note", "")))


def check_names_task(keyed: Mapping[str, Any], task: Task) -> None:
    """Refuse a message that was written for another task.

    Raises:
        RequestError: `task_invalid`.
    """
    conversation, body = keyed.get("conversation"), keyed["body"]
    correlation = conversation.get("correlation_id") if isinstance(conversation, Mapping) else None
    if correlation not in {None, task.correlation_id}:
        message = "the message has another correlation id than the task"
        raise RequestError(message, code="task_invalid", pointer="/conversation/correlation_id")
    if body.get("task_id") not in {None, task.task_id}:
        message = "the message names another task"
        raise RequestError(message, code="task_invalid", pointer="/body/task_id")


def report_change(body: Mapping[str, Any], data: bytes, *, at: datetime) -> Change:
    """Return what a final report says; `data` are the bytes that are kept of it."""
    report = Evidence.of(data, "application/json", at)
    return Change(
        event=TaskEvent.REPORT,
        code="task_reported",
        outcome=body["outcome"],
        report=report,
        named=tuple(dict.fromkeys(body["evidence"])),
        members={"final_report": True, "evidence_id": report.evidence_id, "outcome": body["outcome"]},
    )


def sweep_due(tx: Tx) -> None:
    """The unit of the sweep: move every task that is due, and say how it ended where it did."""
    for task in tx.tasks.due(tx.now):
        timely(tx, task)


def task_sweep() -> Chore:
    """Return the chore that lets time move tasks."""
    return Chore(name="tasks", every_seconds=_SWEEP_SECONDS, unit=sweep_due)


def timely(tx: Tx, task: Task) -> Task:
    """Return the task as time has left it; every move is recorded."""
    while task.due_at is not None and task.due_at <= tx.now:
        expires = task.expires_at <= tx.now
        code = "task_ended_without_report" if expires else "task_timed_out"
        event = TaskEvent.EXPIRE if expires else TaskEvent.TIMEOUT
        task = _moved(tx, task, Change(event=event, code=code, members={"final_report": False} if expires else {}))
    return task


def applied(tx: Tx, task: Task, change: Change) -> Task:
    """Return the task after what its agent said; time goes first, and stays where what was said is refused.

    Raises:
        RequestError: `task_state_conflict`, `task_invalid`, and nothing is written.
    """
    now = _seen(task, tx.now)
    if next_state(now.state, change.event) is None:
        message = f"the task is {now.state.value}; {change.event.value} does not follow"
        raise RequestError(message, code="task_state_conflict")
    if change.outcome and now.state in FINISHED and change.outcome != now.state.value:
        message = f"the task is {now.state.value}, and the report says {change.outcome}"
        raise RequestError(message, code="task_state_conflict")
    task = timely(tx, task)
    unusable = [each for each in change.named if not tx.evidence.links(each, task.subject)]
    if unusable:
        message = "the report names evidence that is not there or not yours; hand it in first"
        raise RequestError(message, code="task_invalid", pointer="/body/evidence")
    if change.report is not None:
        tx.evidence.add(change.report, _report_link(change.report, task))
    return _moved(tx, task, change)


def _seen(task: Task, now: datetime) -> Task:
    """Return the task as time will leave it, without recording it."""
    while task.due_at is not None and task.due_at <= now:
        event = TaskEvent.EXPIRE if task.expires_at <= now else TaskEvent.TIMEOUT
        task = _after(task, Change(event=event, code=""), now)
    return task


def _after(task: Task, change: Change, now: datetime) -> Task:
    state = next_state(task.state, change.event)
    assert state is not None  # noqa: S101 - whoever moves a task has looked at the table
    due = due_at(state, created_at=task.created_at, timeout_ms=task.timeout_ms, expires_at=task.expires_at)
    return replace(
        task,
        state=state,
        progress=task.progress if change.progress is None else change.progress,
        note=task.note if change.note is None else change.note,
        outcome=change.outcome or task.outcome,
        report_id=change.report.evidence_id if change.report else task.report_id,
        changed_at=now,
        due_at=due,
        ended_at=now if due is None else None,
    )


def _moved(tx: Tx, task: Task, change: Change) -> Task:
    """Move the task and append the entry that says so."""
    after = _after(task, change, tx.now)
    if tx.tasks.change(task, after):
        tx.append(
            EntryDraft(kind=EntryKind.TASK, members={**_told(after, task.state), "code": change.code, **change.members})
        )
    return after


def _told(task: Task, before: TaskState) -> dict[str, EntryValue]:
    members: dict[str, EntryValue] = {
        "principal": Principal(type="Agent", id=task.subject).as_json(),
        "action": _ACTION,
        "task_id": task.task_id,
        "task_decision_id": task.decision_id,
        "old_state": before.value,
        "state": task.state.value,
        "correlation_id": task.correlation_id,
    }
    return members if task.progress is None else members | {"progress": task.progress}


def _report_link(report: Evidence, task: Task) -> EvidenceLink:
    return EvidenceLink(
        evidence_id=report.evidence_id,
        subject=task.subject,
        kind="final_report",
        origin="self",
        issuer_id="",
        uploader=task.subject,
        created_at=report.created_at,
    )
