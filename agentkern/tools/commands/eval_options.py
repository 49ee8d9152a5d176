"""What the commands of `agentkern eval` share: the tasks' folder, and complaints about it and about runs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import click

from agentkern.evals.ledger import LedgerError
from agentkern.evals.task import Suite, TaskError, read_suite, read_task, read_tasks, task_folders
from agentkern.evals.task_model import Task
from agentkern.tools.sources import usage_error

Found = TypeVar("Found")

tasks_option = click.option(
    "--tasks",
    "tasks_folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The tasks' folder, if not the one of this package.",
)


def tasks_in(folder: Path | None, names: Iterable[str] = ()) -> tuple[Task, ...]:
    """Return the tasks that are named, or all of a folder, by default of this package; no other is read.

    Errors: UsageError for what is no task, and for a name that is not there, with the nearest.
    """
    wanted = tuple(dict.fromkeys(names))
    try:
        if not wanted:
            return read_tasks(folder)
        known = task_folders(folder)
        for name in wanted:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean `{near[0]}`?" if near else "`agentkern eval list` names them"
                raise usage_error("--task", f"there is no task `{name}`; {hint}")
        return tuple(read_task(known[name]) for name in wanted)
    except TaskError as e:
        raise usage_error("--tasks", str(e)) from e


def tasks_to_run(folder: Path | None, names: Iterable[str] = ()) -> tuple[Task, ...]:
    """Return the same, of which at least one can be written today. Errors: UsageError, for blocked ones too."""
    found = tasks_in(folder, names)
    if all(task.is_blocked for task in found):
        waiting = "; ".join(f"`{task.name}` waits for {task.blocked_by}" for task in found)
        raise usage_error("--task", f"there is nothing to run: {waiting}")
    return found


def suite_in(folder: Path | None) -> Suite:
    """Return what a folder holds, of this package by default, bad tasks too. Errors: UsageError."""
    try:
        return read_suite(folder)
    except TaskError as e:
        raise usage_error("--tasks", str(e)) from e


def of_run(read: Callable[[], Found]) -> Found:
    """Return what reading a run's folder gives. Errors: UsageError."""
    try:
        return read()
    except LedgerError as e:
        raise usage_error("RUN", str(e)) from e
