"""The record of the gate that stands in the repository is of these tasks, solutions and rules."""

from __future__ import annotations

from agentkern.evals.admission import LEAST_REJECTED, is_current, recorded_admissions
from agentkern.evals.task import default_tasks, read_tasks

EXPRESSIBLE = [task for task in read_tasks() if not task.is_blocked]
RECORD = {row.name: row for row in recorded_admissions(default_tasks().parent / "results" / "admission.json")}


def test_every_task_that_can_be_solved_is_recorded():
    assert sorted(RECORD) == sorted(task.name for task in EXPRESSIBLE)


def test_the_record_is_not_stale():
    stale = [task.name for task in EXPRESSIBLE if not is_current(RECORD[task.name], task)]
    assert stale == []  # agentkern eval admit --record --stale


def test_every_task_is_admitted_with_at_least_ten_wrong_kernels_rejected():
    assert [row.problems for row in RECORD.values() if not row.is_admitted] == []
    assert min(len(row.rejected) for row in RECORD.values()) >= LEAST_REJECTED


def test_every_baseline_is_recorded_as_one_that_holds():
    assert {name: set(row.baselines) for name, row in RECORD.items()} == {
        task.name: set(task.baselines) for task in EXPRESSIBLE
    }


def test_wrong_kernels_of_every_sort_are_recorded():
    rejected = [wrong.kind for row in RECORD.values() for wrong in row.rejected]
    sorts = ("zeros", "ones", "constant", "stale output", "dropped tail", "off by one", "transposed", "swapped inputs")
    sorts += (
        "lower precision inside",
        "lower precision of an input",
        "wrong mask",
        "wrong axis",
        "last element masked",
    )
    assert [sort for sort in sorts if rejected.count(sort) < 3] == []
    assert sum(kind.startswith("dropped input") for kind in rejected) > len(RECORD)
