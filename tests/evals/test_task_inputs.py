"""Inputs keep what a task says of its values, whatever the kind, and are the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from agentkern.compiler.ir.reference_formats import decode
from agentkern.dsl.dtypes import DTYPES
from agentkern.evals.task import read_tasks
from agentkern.evals.task_inputs import other_scalars, task_array, task_call
from agentkern.evals.task_model import TaskTensor, Values
from agentkern.runtime.promises import broken_promise
from agentkern.tools.inputs import KINDS

EXPRESSIBLE = [task for task in read_tasks() if not task.is_blocked]


@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_inputs_keep_the_values_that_a_task_states(task):
    for sizes in (*task.shapes.shown, *task.shapes.hidden):
        for kind in task.kinds:
            call = task_call(task, kind, sizes, seed=5)
            assert broken_promise(task.signature.promises, call.tensors, sizes) is None
            again = task_call(task, kind, sizes, seed=5)
            assert all(raw.tobytes() == again.tensors[name].tobytes() for name, raw in call.tensors.items())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "e4m3", "f64"])
@pytest.mark.parametrize("rule", ["positive", "unit", "coarse", "finite", "is_sorted"])
def test_floats_keep_each_rule(kind, dtype, rule):
    tensor = TaskTensor("x", "in", DTYPES[dtype], (13, 40), Values(**{rule: True}))
    values = decode(dtype, task_array(tensor, kind, {}, 3)).astype(np.float64)
    known = values[~np.isnan(values)]
    if rule == "positive":
        assert (known > 0).all()
    elif rule == "unit":
        assert (np.abs(known) <= 1).all()
    elif rule == "coarse":
        small = known[np.abs(known) < 2.0**20]
        assert (small * 4 == np.round(small * 4)).all()
    elif rule == "finite":
        assert np.isfinite(values).all()
    else:
        # a NaN sorts last
        assert all((np.diff(row[~np.isnan(row)][np.isfinite(row[~np.isnan(row)])]) >= 0).all() for row in values)


def test_bits_that_need_no_change_stay():
    free = TaskTensor("x", "in", DTYPES["bf16"], (64, 8))
    finite = TaskTensor("x", "in", DTYPES["bf16"], (64, 8), Values(finite=True))
    drawn, kept = (task_array(t, "special", {}, 1) for t in (free, finite))
    is_finite = np.isfinite(decode("bf16", drawn))
    assert (drawn[is_finite] == kept[is_finite]).all()
    assert (drawn[~is_finite] != kept[~is_finite]).all()


def test_integers_are_sorted_where_the_task_says_so():
    tensor = TaskTensor("x", "in", DTYPES["i32"], (3, 9), Values(is_sorted=True))
    assert (np.diff(task_array(tensor, "random", {}, 1).astype(np.int64), axis=1) >= 0).all()


def test_other_scalars_differ_from_the_usual_ones():
    task = next(task for task in EXPRESSIBLE if task.name == "mask_indices_by_tp")
    others = other_scalars(task)
    assert [one["per_gpu"] for one in others] == [4, 9, 1]
    assert [one["rank"] for one in others] == [0, 2, 0]
