"""Judge submissions in processes of their own: what a text makes of a judgement costs that judgement and no run."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentkern.evals.candidates.table import Device, candidate_of
from agentkern.evals.judge import judge, judge_digest, source_digest
from agentkern.evals.judge_cases import Bench, Level, make_bench
from agentkern.evals.records import Judgement, Language, Submission
from agentkern.evals.task import read_task
from agentkern.evals.task_model import Task
from agentkern.runtime.worker import JobFailed, Worker

_JOBS = {"judge": "agentkern.evals.judging:judge_job"}
_MEMORY_BYTES: dict[Device, int] = {"cpu": 8 << 30, "cuda": 16 << 30}
"""Private memory of a judge: a task's largest tensor takes 8 MiB, and two judges are to fit a small machine."""
_SECONDS: dict[Level, float] = {"quick": 180.0, "full": 1200.0}


def judge_job(payload: dict[str, Any], _report: Callable[[Any], None]) -> dict[str, Any]:
    """Judge one submission; the payload's fields are those of `Judges.judge`."""
    task = read_task(Path(payload["task"]))
    handed_in = Submission.model_validate_json(payload["submission"])
    candidate = candidate_of(task, handed_in, payload["language"], payload["device"])
    bench = _bench(task, payload["level"], payload["seed"])
    return judge(task, candidate, payload["level"], payload["seed"], bench).model_dump(mode="json")


_last: dict[tuple[str, Level, int], Bench] = {}
"""The calls and answers of the task that this process judged last: submissions of one task come one after another."""


def _bench(task: Task, level: Level, seed: int) -> Bench | None:
    key = (task.digest, level, seed)
    if task.is_blocked:
        return None
    if key not in _last:
        for old in _last.values():
            old.close()
        _last.clear()
        _last[key] = make_bench(task, level, seed)
    return _last[key]


class Judges:
    """A few processes that judge, one submission each at a time. Safe for several threads."""

    def __init__(self, count: int, device: Device, level: Level, seed: int) -> None:
        self._workers = [Worker(_JOBS, os.environ) for _ in range(count)]
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._device: Device = device
        self._level: Level = level
        self._seed = seed

    def judge(self, task: Task, handed_in: Submission, language: Language) -> Judgement:
        """Judge one submission; where its process fails there is no verdict, and the judgement says why."""
        payload = {
            "task": str(task.folder),
            "submission": handed_in.model_copy(update={"judgement": None}).model_dump_json(),
            "language": language,
            "device": self._device,
            "level": self._level,
            "seed": self._seed,
        }
        worker = self._free.get()
        try:
            outcome = worker.run_job(
                "judge", payload, timeout_s=_SECONDS[self._level], memory_bytes=_MEMORY_BYTES[self._device]
            )
        finally:
            self._free.put(worker)
        if isinstance(outcome, JobFailed):
            return self._without(task, handed_in, language, outcome)
        return Judgement.model_validate(outcome)

    def _without(self, task: Task, handed_in: Submission, language: Language, failed: JobFailed) -> Judgement:
        last = failed.detail.splitlines()[-1] if failed.detail else ""
        return Judgement(
            task=task.name,
            language=language,
            source_digest=source_digest(handed_in.source),
            verdict="not_run",
            summary=f"no verdict: the judge's process {failed.kind.replace('_', ' ')}: {last}",
            level=self._level,
            device=self._device,
            seed=self._seed,
            judge_digest=judge_digest(task),
        )

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()
