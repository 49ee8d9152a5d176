"""The gate, run: every task that can be solved admits its solution and rejects its wrong kernels, as recorded."""

from __future__ import annotations

import pytest

from agentkern.evals.admission import LEAST_REJECTED, admit, recorded_admissions
from agentkern.evals.task import default_tasks, read_tasks
from agentkern.evals.task_model import Task

RECORD = {row.name: row for row in recorded_admissions(default_tasks().parent / "results" / "admission.json")}


@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("task", [t for t in read_tasks() if not t.is_blocked], ids=lambda task: task.name)
def test_the_gate_admits_the_task_as_recorded(task: Task):
    found = admit(task)
    assert found.is_admitted, found.problems
    assert len(found.rejected) >= LEAST_REJECTED
    assert [wrong.kind for wrong in found.rejected] == [wrong.kind for wrong in RECORD[task.name].rejected]
