"""`agentkern eval`: list, admit, replay, run, report."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from agentkern.evals.listing import list_run, list_tasks
from agentkern.evals.render import replay_report, run_list_report, task_list_report
from agentkern.evals.replay import replay as replay_run
from agentkern.tools.commands.eval_admit import command as admit_command
from agentkern.tools.commands.eval_options import of_run, suite_in, tasks_option
from agentkern.tools.commands.eval_report import command as report_command
from agentkern.tools.commands.eval_run import command as run_command
from agentkern.tools.commands.options import json_option
from agentkern.tools.commands.terminal import progress
from agentkern.tools.output import finish

run_argument = click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))


@click.group()
def command() -> None:
    """Measure whether agents write right kernels: tasks, runs, their scores and reports."""


@command.command("list")
@click.argument("run", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@tasks_option
@json_option
def list_all(run: Path | None, tasks_folder: Path | None, *, as_json: bool) -> None:
    """Name every task, or every sample of the folder RUN."""
    if run is None:
        tasks = list_tasks(suite_in(tasks_folder), own=tasks_folder is not None)
        finish(tasks, task_list_report(tasks), as_json=as_json)
    samples = of_run(lambda: list_run(run))
    finish(samples, run_list_report(samples), as_json=as_json)


@command.command()
@run_argument
@click.option("--level", type=click.Choice(["quick", "full"]), help="Another level than was stored.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Another device than was stored.")
@tasks_option
@json_option
def replay(
    run: Path,
    level: Literal["quick", "full"] | None,
    device: Literal["cpu", "cuda"] | None,
    tasks_folder: Path | None,
    *,
    as_json: bool,
) -> None:
    """Judge every stored submission of RUN again and compare with what was stored."""
    tasks = suite_in(tasks_folder).tasks  # what of it cannot be read is missed only where the run has it
    with progress(as_json=as_json, by_line=True) as report:
        result = of_run(lambda: replay_run(run, tasks, level, device, report))
    finish(result, replay_report(result), as_json=as_json)


command.add_command(admit_command, "admit")
command.add_command(run_command, "run")
command.add_command(report_command, "report")
