"""Tasks and submissions for tests of the judge."""

from __future__ import annotations

import shutil
from pathlib import Path

from agentkern.evals.candidates.table import candidate_of
from agentkern.evals.judge import judge
from agentkern.evals.judge_cases import Bench
from agentkern.evals.records import Judgement, Submission
from agentkern.evals.task import default_tasks, read_task
from agentkern.evals.task_model import Task

VECTOR_ADD = read_task(default_tasks() / "vector_add")

HEADER = """import agentkern as ak

N = ak.dim("N")


"""
PARAMS = "x: ak.In[ak.f32, N], y: ak.In[ak.f32, N], out: ak.Out[ak.f32, N]"


def kernel(body: str, params: str = PARAMS, name: str = "add") -> str:
    """Return the text of one kernel whose grid is over N and whose body is one statement."""
    return f"{HEADER}@ak.kernel\ndef {name}({params}):\n    for i in ak.grid(N):\n        {body}\n"


RIGHT = kernel("out[i] = x[i] + y[i]")


def submission(source: str, kernel: str | None = None) -> Submission:
    """Return a text as it is handed in."""
    return Submission(number=1, at_call=0, tokens=0, source=source, kernel=kernel)


def judged(source: str, task: Task = VECTOR_ADD, *, bench: Bench | None = None, name: str | None = None) -> Judgement:
    """Judge a text at the quick level on the CPU."""
    return judge(task, candidate_of(task, submission(source, name)), bench=bench)


def status(judgement: Judgement, name: str) -> str:
    """Return one check's status."""
    return {check.name: check.status for check in judgement.checks}[name]


def copy_task(task: Task, folder: Path) -> Path:
    """Copy a task's folder, so that it may be changed."""
    return Path(shutil.copytree(task.folder, folder / task.name))
