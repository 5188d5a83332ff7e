"""`negotiator task`: for operators. Long tasks of agents and how far they have come."""

from __future__ import annotations

from pathlib import Path

import click

from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import opened
from negotiator.model.tasks import Task

__all__ = ["command"]

_COLUMNS = ("task_id", "created_at", "state", "subject", "correlation_id")


@click.group(name="task")
def command() -> None:
    """Look at long tasks."""


@command.command(name="list")
@click.option("--open", "only_open", is_flag=True, help="Only those that have not ended.")
@config_option
@as_json_option
def list_(*, only_open: bool, config: Path | None, as_json: bool) -> None:
    """Print the tasks of every agent, newest first, at most 1,000."""
    with opened(config, existing=True) as negotiator:
        tasks = [task for task in negotiator.task_list.all() if not only_open or task.due_at is not None]
    if as_json:
        print_json([_document(task) for task in tasks])
        return
    for task in tasks:
        document = _document(task)
        click.echo(one_line("  ".join(str(document[name]) for name in _COLUMNS)))
    if not tasks:
        click.echo("there are no tasks")


@command.command()
@click.argument("task_id")
@config_option
@as_json_option
def show(task_id: str, *, config: Path | None, as_json: bool) -> None:
    """Print the task TASK_ID. Note and fallback are the agent's words."""
    with opened(config, existing=True) as negotiator:
        document = _document(negotiator.task_list.show(task_id))
    if as_json:
        print_json(document)
        return
    for name, value in document.items():
        click.echo(one_line(f"{name:<15} {'' if value is None else value}"))


def _document(task: Task) -> dict[str, object]:
    return {**task.as_json(), "subject": task.subject}
