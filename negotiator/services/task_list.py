"""What operators ask about long tasks."""

from __future__ import annotations

from collections.abc import Sequence

from negotiator.errors import RequestError, quoted
from negotiator.model.tasks import Task
from negotiator.ports import Store

__all__ = ["TaskList"]


class TaskList:
    """The long tasks of one project, for reading."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> Sequence[Task]:
        """Return the tasks of every agent, newest first, at most 1,000."""
        return self._store.read_sync(lambda reader: reader.tasks.all())

    def show(self, task_id: str) -> Task:
        """Return one task.

        Raises:
            RequestError: `not_found`.
        """
        found = self._store.read_sync(lambda reader: reader.tasks.get(task_id))
        if found is None:
            message = f"there is no task {quoted(task_id)}; `negotiator task list` shows what there is"
            raise RequestError(message, code="not_found")
        return found
