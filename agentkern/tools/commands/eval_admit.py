"""`agentkern eval admit`: bring tasks before the gate."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from agentkern.evals.admission import (
    admit_all,
    admit_result,
    is_current,
    record_admissions,
    recorded_admissions,
)
from agentkern.evals.render import admit_report
from agentkern.evals.results import Admission
from agentkern.evals.task_model import Task
from agentkern.tools.commands.eval_options import tasks_in, tasks_option
from agentkern.tools.commands.options import json_option
from agentkern.tools.commands.terminal import progress
from agentkern.tools.output import finish
from agentkern.tools.sources import usage_error


@click.command()
@click.argument("names", nargs=-1, metavar="[TASK]...")
@click.option("--record", is_flag=True, help="Write what is found into evals/results/admission.json, task by task.")
@click.option("--stale", is_flag=True, help="Only tasks of which the record does not speak any more.")
@click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Tasks at a time.")
@tasks_option
@json_option
def command(
    names: tuple[str, ...], tasks_folder: Path | None, jobs: int, *, record: bool, stale: bool, as_json: bool
) -> None:
    """Show that wrong kernels fail the tasks, all by default, and that their solutions pass."""
    every = tasks_in(tasks_folder)
    chosen = [named_task(every, name) for name in names] or [task for task in every if not task.is_blocked]
    file = every[0].folder.parent.parent / "results" / "admission.json"
    known = {row.name: row for row in recorded_admissions(file)} if stale else {}
    chosen = [task for task in chosen if task.name not in known or not is_current(known[task.name], task)]
    found: list[Admission] = []
    with progress(as_json=as_json) as report:
        for row in admit_all(chosen, jobs):
            found.append(row)
            report(len(found) / len(chosen), row.name)
            if record:
                record_admissions(file, every, found)
    result = admit_result(found)
    finish(result, admit_report(result), as_json=as_json)


def named_task(tasks: tuple[Task, ...], name: str) -> Task:
    """Return a task that can be judged. Errors: UsageError."""
    known = {task.name: task for task in tasks}
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        raise usage_error("TASK", f"there is no task `{name}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    if known[name].is_blocked:
        raise usage_error("TASK", f"`{name}` is blocked by {known[name].blocked_by}: nothing solves it yet")
    return known[name]
