"""Name the tasks, and the samples of a run."""

from __future__ import annotations

import shlex
from pathlib import Path

from agentkern.evals.ledger import read_run
from agentkern.evals.records import Sample
from agentkern.evals.results import RunListResult, SampleRow, TaskListResult, TaskRow, UnreadTask
from agentkern.evals.task import Suite, suite_digest
from agentkern.tools.counted import counted


def list_tasks(suite: Suite, *, own: bool = False) -> TaskListResult:
    """Return every task, blocked ones and those that cannot be read too. own: they are not this package's."""
    rows = tuple(
        TaskRow(
            name=task.name,
            family=task.family,
            level=task.level,
            features=task.features,
            blocked_by=task.blocked_by,
            baselines=tuple(task.baselines),
            digest=task.digest,
        )
        for task in suite.tasks
    )
    n_blocked = sum(task.is_blocked for task in suite.tasks)
    n_compared = sum(bool(task.baselines) for task in suite.tasks)
    unread = tuple(UnreadTask(name=one.name, reason=one.reason) for one in suite.unread)
    where = f" --tasks {shlex.quote(str(suite.folder))}"
    step = f"next: `agentkern eval admit{where}`" if own else "next: `agentkern eval run --lane mock -o RUN`"
    bad = ""
    if unread:
        bad, step = f", {len(unread)} more cannot be read", f"first mend `{unread[0].name}`: {unread[0].reason}"
    compared = f"{n_compared} with a baseline for speed"
    return TaskListResult(
        status="failed" if unread else "ok",
        summary=f"{counted(len(rows), 'task')}, {n_blocked} of them blocked, {compared}{bad}; {step}",
        tasks=rows,
        unread=unread,
        suite_digest=suite_digest(suite.tasks),
    )


def list_run(folder: Path) -> RunListResult:
    """Return a run's samples. Errors: LedgerError."""
    run = read_run(folder)
    rows = tuple(_row(sample) for sample in run.samples)
    right = sum(sample.is_correct for sample in run.samples)
    left_out = f", {counted(len(run.problems), 'problem')}" if run.problems else ""
    next_step = f"next: `agentkern eval report {folder}`"
    summary = f"{counted(len(rows), 'sample')}, {right} right{left_out}; {next_step}"
    return RunListResult(status="ok", summary=summary, run=run.header, samples=rows, problems=run.problems)


def _row(sample: Sample) -> SampleRow:
    best = sample.best
    return SampleRow(
        id=sample.id,
        task=sample.task,
        arm=sample.arm,
        model=sample.model,
        epoch=sample.epoch,
        state=sample.state,
        verdict=None if best is None or best.judgement is None else best.judgement.verdict,
        calls=len(sample.calls),
        tokens=sample.usage.total,
    )
