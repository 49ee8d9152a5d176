"""Tasks that keep their solution to themselves: nothing in the corpus gives it away."""

from __future__ import annotations

from functools import cache

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel
from agentkern.evals.task import read_tasks
from agentkern.evals.task_model import Task
from agentkern.tools.corpus_entry import default_corpus, read_entries
from agentkern.tools.near_duplicates import NEAR, similarity

TASKS = read_tasks()
HELD_OUT = [task for task in TASKS if task.solution is not None and task.solution.is_held_out]
FROM_CORPUS = [task for task in TASKS if task.solution is not None and not task.solution.is_held_out]
# one addition over a pair of axes: nothing to give away
ONE_OPERATION = ("outer_add",)


def solution_kernel(task: Task) -> Kernel:
    assert task.solution is not None
    static = {name: task.shapes.shown[0][name] for name in task.static}
    found = lower_source(task.solution.text, "kernel.py", task.solution.kernel, static, task.settings)
    assert found.kernel is not None
    return found.kernel


@cache
def corpus_kernels() -> tuple[tuple[str, Kernel], ...]:
    found: list[tuple[str, Kernel]] = []
    for entry in read_entries(default_corpus()):
        for name in entry.kernels:
            lowered = lower_source(entry.source, "kernel.py", name, dict(entry.dims))
            assert lowered.kernel is not None
            found.append((name, lowered.kernel))
    return tuple(found)


@pytest.mark.parametrize("task", HELD_OUT, ids=lambda task: task.name)
def test_no_kernel_of_the_corpus_is_near_a_held_out_solution(task):
    mine = solution_kernel(task)
    near = [name for name, kernel in corpus_kernels() if similarity(mine, kernel) >= NEAR]
    assert near == [] or task.name in ONE_OPERATION


def test_many_tasks_are_held_out_and_many_are_not():
    assert len(HELD_OUT) >= 17
    assert len(FROM_CORPUS) >= 17


def test_every_level_has_tasks_that_can_be_solved():
    assert {task.level for task in HELD_OUT + FROM_CORPUS} == {1, 2, 3, 4}
    assert len(HELD_OUT) + len(FROM_CORPUS) >= 34


def test_blocked_tasks_name_features_and_have_no_solution():
    blocked = [task for task in TASKS if task.is_blocked]
    assert blocked
    for task in blocked:
        assert task.solution is None
        assert task.features
        assert not (task.folder / "solution.py").exists()
