"""Run an experiment: every model in every arm at every task, so many times; go on where one stopped.

What runs the models is loaded only when there is something to run. Decides nothing about verdicts.
"""

from __future__ import annotations

import importlib
import json
import subprocess
from collections import Counter
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import agentkern
from agentkern.diagnostics import Span, error
from agentkern.evals.ledger import HEADER, held, read_run, start_run
from agentkern.evals.records import RunHeader, SampleState, Verdict
from agentkern.evals.run_model import RunLimits, RunRequest, RunResult
from agentkern.evals.task import suite_digest
from agentkern.evals.unavailable import ModelUnavailable
from agentkern.runtime.cache_keys import digest_of
from agentkern.tools.counted import counted
from agentkern.tools.progress import Report, silent
from agentkern.tools.results import diagnostic_record
from agentkern.tools.sources import usage_error

_ADAPTER = "agentkern.evals.inspect_adapter"
_EXTRA = "agentkern[evals]"


def run(request: RunRequest, report: Report = silent) -> RunResult:
    """Run what is missing of an experiment. Errors: LedgerError where another run lies in the folder; UsageError."""
    header = header_of(request)
    if (request.folder / HEADER).exists() and not request.resume:
        raise usage_error("-o", f"a run lies in `{request.folder}`; `--resume` goes on with it")
    try:
        adapter: Any = importlib.import_module(_ADAPTER)
    except ModuleNotFoundError as e:
        return _unavailable("AK820", header, request, reason=f"the package `{e.name}` is not installed")
    ledger = start_run(request.folder, header)
    with held(request.folder):
        done = ledger.done()
        missing = tuple(job for job in request.jobs if job.id not in done)
        if missing:
            try:
                adapter.run_jobs(request, missing, ledger, report)
            except ModelUnavailable as e:
                return _unavailable("AK821", header, request, reason=str(e), step=e.step)
    return run_result(request.folder, header, len(missing))


def header_of(request: RunRequest) -> RunHeader:
    """Return what is run; equal requests have equal headers but for their time."""
    able = [task for task in request.tasks if not task.is_blocked]
    limits = {name: float(value) for name, value in asdict(request.limits).items() if value is not None}
    header = RunHeader(
        id="",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        agentkern=agentkern.__version__,
        commit=checkout_commit(),
        lane=request.lane,
        suite_digest=suite_digest(able),
        tasks=tuple(task.name for task in able),
        blocked={task.name: task.blocked_by for task in request.tasks if task.is_blocked},
        arms=tuple(arm.name for arm in request.arms),
        models=request.models,
        epochs=request.epochs,
        device=request.device,
        level=request.level,
        seed=request.seed,
        limits=limits,
    )
    plan = json.dumps(header.model_dump(mode="json", exclude={"id", "created", "commit"}), sort_keys=True)
    return header.model_copy(update={"id": digest_of("run", plan)[:12]})


def checkout_commit() -> str:
    """Return the commit of the package's source, empty where it is no checkout."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return ""
    try:
        asked = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def limits_of(**given: int | None) -> RunLimits:
    """Return limits, the usual ones where nothing is given; 0 lifts one."""
    usual = RunLimits()
    chosen = {
        row.name: getattr(usual, row.name) if given.get(row.name) is None else given[row.name] for row in fields(usual)
    }
    return RunLimits(**{name: value or None for name, value in chosen.items()})


def _unavailable(code: str, header: RunHeader, request: RunRequest, reason: str, step: str | None = None) -> RunResult:
    found = error(code, Span("agentkern"), hint=step, reason=reason)
    return RunResult(
        status="unavailable",
        summary=f"{found.message}; {found.hint}",
        diagnostics=(diagnostic_record(found),),
        run=header.id,
        folder=str(request.folder),
    )


def run_result(folder: Path, header: RunHeader, new: int) -> RunResult:
    """Return what a run has come to. Errors: LedgerError."""
    samples = read_run(folder).samples
    states: Counter[SampleState] = Counter(sample.state for sample in samples)
    verdicts: Counter[Verdict] = Counter(
        sample.best.judgement.verdict
        for sample in samples
        if sample.best is not None and sample.best.judgement is not None
    )
    right = sum(sample.is_correct for sample in samples)
    step = f"`agentkern eval report {folder}` shows them"
    if states["error"]:
        step = f"{states['error']} ended in an error of ours or the provider's: `--resume` runs them again"
    return RunResult(
        status="ok",
        summary=f"{counted(len(samples), 'sample')}, {right} right, {new} of them run now; {step}",
        run=header.id,
        folder=str(folder),
        samples=len(samples),
        new=new,
        states=dict(states),
        verdicts=dict(verdicts),
    )
