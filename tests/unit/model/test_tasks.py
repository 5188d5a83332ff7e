"""The machine of a task: what it lets follow, and when time moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from negotiator.model.tasks import (
    ACTIVE,
    ENDED,
    FINISHED,
    PROGRESS_OF,
    TRANSITIONS,
    TaskEvent,
    TaskState,
    due_at,
    next_state,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_every_state_has_a_row():
    assert set(TRANSITIONS) == set(TaskState)
    assert {*ACTIVE, *FINISHED, TaskState.TIMED_OUT} | ENDED == set(TaskState)


def test_nothing_leaves_the_end():
    assert all(next_state(state, event) is None for state in ENDED for event in TaskEvent)


def test_every_state_can_be_reached_and_every_way_ends():
    reached, waiting = set(), {TaskState.ACCEPTED}
    while waiting:
        state = waiting.pop()
        reached.add(state)
        waiting |= {*TRANSITIONS[state].values()} - reached
    assert reached == set(TaskState)
    for state in TaskState:
        if state not in ENDED:
            assert next_state(state, TaskEvent.EXPIRE) in ENDED
            assert next_state(state, TaskEvent.REPORT) is TaskState.CLOSED


@pytest.mark.parametrize("state", [*FINISHED, TaskState.TIMED_OUT])
def test_who_is_done_is_not_at_it_again(state: TaskState):
    assert next_state(state, TaskEvent.RUNNING) is None
    assert next_state(state, TaskEvent.TIMEOUT) is None
    assert next_state(state, TaskEvent.EXPIRE) is TaskState.UNREPORTED


def test_a_status_leads_to_its_state():
    for state in PROGRESS_OF:
        assert next_state(TaskState.ACCEPTED, TaskEvent(state.value)) is state


@pytest.mark.parametrize(
    ("state", "timeout_ms", "minutes"),
    [
        (TaskState.ACCEPTED, 60_000, 1),
        (TaskState.BLOCKED, 60_000, 1),
        (TaskState.RUNNING, 36_000_000, 60),
        (TaskState.COMPLETED, 60_000, 60),
        (TaskState.TIMED_OUT, 60_000, 60),
    ],
)
def test_the_timeout_is_for_the_work_and_the_expiry_for_the_report(state: TaskState, timeout_ms: int, minutes: int):
    due = due_at(state, created_at=NOW, timeout_ms=timeout_ms, expires_at=NOW + timedelta(hours=1))
    assert due == NOW + timedelta(minutes=minutes)


@pytest.mark.parametrize("state", ENDED)
def test_time_moves_nothing_that_has_ended(state: TaskState):
    assert due_at(state, created_at=NOW, timeout_ms=1, expires_at=NOW) is None
