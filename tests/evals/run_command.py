"""`agentkern eval run` as a process, and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentkern.evals.arms import arms_named
from agentkern.evals.ledger import read_run
from agentkern.evals.records import Sample
from agentkern.evals.run import run as run_request
from agentkern.evals.run_model import RunLimits, RunRequest, RunResult
from agentkern.evals.task import default_tasks, read_task

RUN = (sys.executable, "-m", "agentkern", "eval", "run", "--json", "--lane")


def command(folder: Path, *options: str, lane: str = "mock") -> list[str]:
    return [*RUN, lane, "-o", str(folder), *options]


def run(folder: Path, *options: str, lane: str = "mock", wrapper: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    """Run to the end; the exit code and the answer, which is all that stands on stdout."""
    done = subprocess.run(
        [*wrapper, *command(folder, *options, lane=lane)],
        capture_output=True, text=True, check=False, timeout=300, env=without_keys(),
    )  # fmt: skip
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


def run_here(folder: Path, models: tuple[str, ...], arms: str, **more: Any) -> RunResult:
    """Run in this process: what is imported once serves every run."""
    limits = RunLimits(**more.pop("limits", {}))
    request = RunRequest(
        folder=folder,
        lane="mock",
        models=tuple(f"mock/{name}" for name in models),
        arms=arms_named(tuple(arms.split(","))),
        tasks=(read_task(default_tasks() / "vector_add"),),
        limits=limits,
        **more,
    )
    return run_request(request)


def without_keys() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}


def samples(folder: Path) -> dict[str, Sample]:
    read = read_run(folder)
    assert read.problems == ()
    return {sample.id: sample for sample in read.samples}


def transcript(folder: Path, sample: Sample) -> list[dict[str, Any]]:
    return json.loads((folder / sample.transcript).read_text(encoding="utf-8"))
