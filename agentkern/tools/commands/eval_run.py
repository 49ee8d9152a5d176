"""`agentkern eval run`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NoReturn

import click

from agentkern.evals.arms import UnknownArm, arms_named
from agentkern.evals.candidates.table import Device
from agentkern.evals.floor import AGENTS, Agent, floor_header, run_floor
from agentkern.evals.judge_cases import Level
from agentkern.evals.mock import SCRIPTS
from agentkern.evals.run import limits_of, run
from agentkern.evals.run_model import RunRequest, RunResult
from agentkern.evals.task_model import Task
from agentkern.tools.commands.eval_options import of_run, tasks_option, tasks_to_run
from agentkern.tools.commands.options import json_option
from agentkern.tools.commands.terminal import progress
from agentkern.tools.output import finish
from agentkern.tools.render import headline
from agentkern.tools.sources import usage_error

MOCK_TASK = "vector_add"
"""What scripted models work at by default: it has stored texts in every language."""
_Count = click.IntRange(min=0)


@click.command()
@click.option("--lane", type=click.Choice(["mock", "live"]), required=True, help="mock: scripted models, no network.")
@click.option(
    "--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="Repeat for more; mock/NAME: a script."
)
@click.option("--agent", "agents", type=click.Choice(AGENTS), multiple=True, help="Instead: an agent without a model.")
@click.option(
    "--arms", default="agentkern/mcp", show_default=True, metavar="ARM,...", help="Arms, or: all, languages, ablations."
)
@click.option("--task", "names", multiple=True, metavar="NAME", help="A task; repeat for more. All by default.")
@tasks_option
@click.option("--epochs", type=click.IntRange(min=1), default=1, show_default=True, help="Samples of each kind.")
@click.option("--limit-messages", type=_Count, help="Messages of a sample; 0: none, as for every limit.")
@click.option("--limit-tokens", type=_Count, help="Tokens of a sample.")
@click.option("--limit-calls", type=_Count, help="Tool calls of a sample, or rounds of plain feedback.")
@click.option("--limit-seconds", type=_Count, help="Time of a sample.")
@click.option("--limit-working-seconds", type=_Count, help="Time of a sample without waiting for the provider.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--level", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--parallel", type=click.IntRange(min=1), default=2, show_default=True, help="Samples at a time.")
@click.option("-o", "folder", type=click.Path(file_okay=False, path_type=Path), required=True, help="The run's folder.")
@click.option("--resume", is_flag=True, help="Go on with the run that lies in the folder.")
@json_option
def command(  # noqa: PLR0913 - one parameter per option
    *,
    lane: Literal["mock", "live"],
    models: tuple[str, ...],
    agents: tuple[Agent, ...],
    arms: str,
    names: tuple[str, ...],
    tasks_folder: Path | None,
    epochs: int,
    limit_messages: int | None,
    limit_tokens: int | None,
    limit_calls: int | None,
    limit_seconds: int | None,
    limit_working_seconds: int | None,
    device: Literal["cpu", "cuda"],
    level: Literal["quick", "full"],
    seed: int,
    parallel: int,
    folder: Path,
    resume: bool,
    as_json: bool,
) -> None:
    """Let models write kernels, and judge what they hand in."""
    if agents:
        _run_agents(folder, tasks_to_run(tasks_folder, names), agents, (level, seed, device), as_json=as_json)
    if lane == "mock":
        models, names = models or tuple(f"mock/{name}" for name in SCRIPTS), names or (MOCK_TASK,)
    if not models:
        raise usage_error("--model", "which model? PROVIDER/MODEL, as inspect_ai names them")
    try:
        chosen = arms_named(tuple(name.strip() for name in arms.split(",")))
    except UnknownArm as e:
        raise usage_error("--arms", str(e)) from e
    request = RunRequest(
        folder=folder,
        lane=lane,
        models=models,
        arms=chosen,
        tasks=tasks_to_run(tasks_folder, names),
        epochs=epochs,
        limits=limits_of(
            messages=limit_messages,
            tokens=limit_tokens,
            tool_calls=limit_calls,
            seconds=limit_seconds,
            working_seconds=limit_working_seconds,
        ),
        device=device,
        level=level,
        seed=seed,
        parallel=parallel,
        resume=resume,
    )
    with progress(as_json=as_json, by_line=True) as report:
        result = of_run(lambda: run(request, report))
    finish(result, _report(result), as_json=as_json)


def _run_agents(
    folder: Path,
    tasks: tuple[Task, ...],
    agents: tuple[Agent, ...],
    how: tuple[Level, int, Device],
    *,
    as_json: bool,
) -> NoReturn:
    """Record what agents without a model make of tasks; go on with the same run where it stopped."""
    with progress(as_json=as_json, by_line=True) as report:
        header = floor_header(tasks, agents, *how)
        result = of_run(lambda: run_floor(folder, tasks, agents, header, report))
    finish(result, _report(result), as_json=as_json)


def _report(result: RunResult) -> str:
    counts = [
        f"  {name.replace('_', ' ')}: {count}" for name, count in (*result.states.items(), *result.verdicts.items())
    ]
    return "\n".join([headline(result), *counts])
