"""Name the tasks, and the samples of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentkern.evals.ledger import read_run
from agentkern.evals.records import Sample
from agentkern.evals.results import RunListResult, SampleRow, TaskListResult, TaskRow
from agentkern.evals.task import suite_digest
from agentkern.evals.task_model import Task


def list_tasks(tasks: Sequence[Task]) -> TaskListResult:
    """Return every task, blocked ones too."""
    rows = tuple(
        TaskRow(
            name=task.name,
            family=task.family,
            level=task.level,
            features=task.features,
            blocked_by=task.blocked_by,
            digest=task.digest,
        )
        for task in tasks
    )
    n_blocked = sum(task.is_blocked for task in tasks)
    summary = f"{len(rows)} tasks, {n_blocked} of them blocked; next: `agentkern eval run --lane mock -o RUN`"
    return TaskListResult(status="ok", summary=summary, tasks=rows, suite_digest=suite_digest(tasks))


def list_run(folder: Path) -> RunListResult:
    """Return a run's samples. Errors: LedgerError."""
    run = read_run(folder)
    rows = tuple(_row(sample) for sample in run.samples)
    right = sum(sample.is_correct for sample in run.samples)
    left_out = f", {len(run.problems)} problems" if run.problems else ""
    summary = f"{len(rows)} samples, {right} right{left_out}; next: `agentkern eval report {folder} -o report.html`"
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
