"""What the commands of `agentkern eval` share: the tasks' folder, and complaints about it and about runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from agentkern.evals.ledger import LedgerError
from agentkern.evals.task import TaskError, read_tasks
from agentkern.evals.task_model import Task
from agentkern.tools.sources import usage_error

Found = TypeVar("Found")

tasks_option = click.option(
    "--tasks",
    "tasks_folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The tasks' folder, if not the one of this package.",
)


def tasks_in(folder: Path | None) -> tuple[Task, ...]:
    """Return the tasks of a folder, of this package by default. Errors: UsageError."""
    try:
        return read_tasks(folder)
    except TaskError as e:
        raise usage_error("--tasks", str(e)) from e


def of_run(read: Callable[[], Found]) -> Found:
    """Return what reading a run's folder gives. Errors: UsageError."""
    try:
        return read()
    except LedgerError as e:
        raise usage_error("RUN", str(e)) from e
