"""Agents without a model, over all tasks: what anyone gets for nothing, recorded as a run like any other.

`nearest` hands in the kernel of the corpus that the search finds for the task's text and signature, with its parameters
renamed; the task's own solution and its near duplicates are hidden from it, as from any agent. From `nearest_open`
nothing is hidden: what it gets is what the search finds, and what a corpus that holds the answers would give away.
`null` hands in zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, get_args

import agentkern
from agentkern.evals.candidates.table import Device, candidate_of
from agentkern.evals.floor_texts import Text, nearest_text, zeros_text
from agentkern.evals.judge import judge
from agentkern.evals.judge_cases import Level
from agentkern.evals.ledger import held, read_run, start_run
from agentkern.evals.metrics import success_at_1, tasks_of
from agentkern.evals.records import RunHeader, Sample, Submission
from agentkern.evals.run import checkout_commit, run_result
from agentkern.evals.run_model import RunResult
from agentkern.evals.task import read_task, suite_digest
from agentkern.evals.task_model import Task
from agentkern.runtime.cache_keys import digest_of
from agentkern.tools.progress import Report, silent

Agent = Literal["nearest", "nearest_open", "null"]
AGENTS: tuple[Agent, ...] = get_args(Agent)
ARM = "agentkern/no_model"
PROCESSES = 2


def run_floor(
    folder: Path, tasks: Sequence[Task], agents: Sequence[Agent], header: RunHeader, report: Report = silent
) -> RunResult:
    """Record what agents make of tasks, going on where a run stopped. Errors: LedgerError; OSError."""
    ledger = start_run(folder, header)
    new = 0
    with held(folder):
        done = ledger.done()
        for agent in agents:
            left = [task for task in tasks if not task.is_blocked and sample_id(task, agent) not in done]
            for number, sample in enumerate(floor_samples(left, agent, header.level, header.seed, header.device)):
                ledger.append(sample)
                new += 1
                report((number + 1) / len(left), f"{agent}: {sample.task}")
    return run_result(folder, header, new)


def floor_header(
    tasks: Sequence[Task], agents: Sequence[Agent], level: Level = "quick", seed: int = 0, device: Device = "cpu"
) -> RunHeader:
    """Return what is run: every task in the one arm of agents without a model."""
    able = [task for task in tasks if not task.is_blocked]
    suite = suite_digest(able)
    return RunHeader(
        id=digest_of("floor", suite, *agents, level, str(seed), device)[:12],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        agentkern=agentkern.__version__,
        commit=checkout_commit(),
        lane="mock",
        suite_digest=suite,
        tasks=tuple(task.name for task in able),
        blocked={task.name: task.blocked_by for task in tasks if task.is_blocked},
        arms=(ARM,),
        models=tuple(agents),
        epochs=1,
        device=device,
        level=level,
        seed=seed,
    )


def sample_id(task: Task, agent: Agent) -> str:
    """Return a sample's name, the same in every start of a run."""
    return f"{task.name}:{ARM}:{agent}:1"


def floor_samples(
    tasks: Sequence[Task], agent: Agent, level: Level = "quick", seed: int = 0, device: Device = "cpu"
) -> Iterator[Sample]:
    """Yield one sample of each task that is not blocked, in order, as it is judged."""
    able = [task for task in tasks if not task.is_blocked]
    make = partial(floor_sample, agent=agent, level=level, seed=seed, device=device)
    if len(able) < 2:
        yield from (make(task.folder) for task in able)
        return
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        yield from pool.map(make, [task.folder for task in able])


def floor_sample(folder: Path, agent: Agent, level: Level, seed: int, device: Device) -> Sample:
    """Return what an agent makes of one task. Errors: TaskError."""
    task = read_task(folder)
    text = zeros_text(task) if agent == "null" else nearest_text(task, is_open=agent == "nearest_open")
    handed_in = () if text is None else (_judged(task, text, level, seed, device),)
    return Sample(
        id=sample_id(task, agent),
        task=task.name,
        family=task.family,
        arm=ARM,
        model=agent,
        epoch=1,
        state="done" if handed_in else "no_submission",
        submissions=handed_in,
    )


def _judged(task: Task, text: Text, level: Level, seed: int, device: Device) -> Submission:
    handed_in = Submission(number=1, at_call=0, tokens=0, source=text.source, kernel=text.kernel)
    found = judge(task, candidate_of(task, handed_in, "agentkern", device), level, seed)
    return handed_in.model_copy(update={"judgement": found})


def floor_record(folder: Path) -> dict[str, Any]:
    """Return what is kept of a run of these agents: rates, and each verdict. Errors: LedgerError."""
    run = read_run(folder)
    header = run.header.model_dump(
        mode="json", include={"created", "commit", "agentkern", "suite_digest", "level", "device", "seed", "blocked"}
    )
    success: dict[str, Any] = {}
    for agent in run.header.models:
        found = success_at_1(tasks_of(sample for sample in run.samples if sample.model == agent))
        success[agent] = {"right": found.value, "low": found.low, "high": found.high, "tasks": found.n_tasks}
    rows = [{"task": s.task, "agent": s.model, "verdict": _verdict(s), "kernel": _kernel(s)} for s in run.samples]
    return {**header, "success": success, "samples": rows}


def _verdict(sample: Sample) -> str:
    best = sample.best
    return "no_submission" if best is None or best.judgement is None else best.judgement.verdict


def _kernel(sample: Sample) -> str:
    return (sample.best.kernel or "") if sample.best is not None else ""
