"""`agentkern eval admit`: bring tasks before the gate."""

from __future__ import annotations

from pathlib import Path

import click

from agentkern.evals.admission import (
    admit_all,
    admit_result,
    is_current,
    record_admissions,
    record_file,
    recorded_admissions,
)
from agentkern.evals.render import admit_report
from agentkern.evals.results import Admission
from agentkern.evals.task_model import TaskError
from agentkern.tools.commands.eval_options import suite_in, tasks_in, tasks_option
from agentkern.tools.commands.options import json_option
from agentkern.tools.commands.terminal import progress
from agentkern.tools.output import finish
from agentkern.tools.sources import usage_error


@click.command()
@click.argument("names", nargs=-1, metavar="[TASK]...")
@click.option(
    "--record",
    is_flag=True,
    help="Write what is found, task by task, into results/admission.json beside the tasks' folder.",
)
@click.option("--stale", is_flag=True, help="Only tasks of which the record does not speak any more.")
@click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Tasks at a time.")
@tasks_option
@json_option
def command(
    names: tuple[str, ...], tasks_folder: Path | None, jobs: int, *, record: bool, stale: bool, as_json: bool
) -> None:
    """Show that wrong kernels fail the tasks, all by default, and that their solutions pass."""
    suite = suite_in(tasks_folder)
    named = tasks_in(tasks_folder, names) if names else ()
    for task in named:
        if task.is_blocked:
            raise usage_error("TASK", f"`{task.name}` is blocked by {task.blocked_by}: nothing solves it yet")
    chosen = named or tuple(task for task in suite.tasks if not task.is_blocked)
    file = record_file(suite)
    recorded = _recorded(file) if stale or record else {}
    known = recorded if stale else {}
    chosen = [task for task in chosen if task.name not in known or not is_current(known[task.name], task)]
    found: list[Admission] = []
    with progress(as_json=as_json, by_line=True) as report:
        for row in admit_all(chosen, jobs):
            found.append(row)
            report(len(found) / len(chosen), row.name)
            if record:
                record_admissions(file, suite, found)
    result = admit_result(found, () if names else suite.unread, file if record and found else None)
    finish(result, admit_report(result), as_json=as_json)


def _recorded(file: Path) -> dict[str, Admission]:
    """Return what a record holds by task. Errors: UsageError before anything is run that could not be written."""
    try:
        return {row.name: row for row in recorded_admissions(file)}
    except TaskError as e:
        raise usage_error("--record", str(e)) from e
