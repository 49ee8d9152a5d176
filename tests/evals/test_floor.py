"""Agents without a model: zeros score 0, and the nearest kernel is the search's, renamed and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.evals.floor import floor_header, floor_samples, run_floor
from agentkern.evals.floor_texts import nearest_text, renamed, zeros_text
from agentkern.evals.ledger import read_run
from agentkern.evals.task import read_tasks
from agentkern.evals.task_model import Task

TASKS = read_tasks()
EXPRESSIBLE = [task for task in TASKS if not task.is_blocked]
RECORD = Path(__file__).parents[2] / "evals" / "results" / "floor.json"


@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_zeros_have_the_parameters_of_every_task(task: Task):
    text = zeros_text(task)
    found = lower_source(text.source, "kernel.py", text.kernel, task.shapes.shown[0], task.settings)
    assert [d.message for d in found.diagnostics if d.severity == "error"] == []


def test_the_solution_is_hidden_from_the_nearest_agent_and_open_to_the_open_one():
    task = next(task for task in TASKS if task.name == "vector_add")
    hidden, is_open = nearest_text(task), nearest_text(task, is_open=True)
    assert hidden is not None
    assert is_open is not None
    assert "vector_add" not in hidden.source
    assert is_open.kernel == "vector_add"
    assert is_open.how == "elementwise/vector_add"


def test_renaming_exchanges_names_and_leaves_all_else():
    source = 'N = ak.dim("N")\n\ndef f(x: ak.In[ak.f32, N], y: ak.Out[ak.f32, N]):  # x\n    y[i] = ak.sum(x.x, x=x, y=N) + "x"\n'
    assert renamed(source, {"x": "y", "y": "x", "N": "M"}) == (
        'M = ak.dim("M")\n\ndef f(y: ak.In[ak.f32, M], x: ak.Out[ak.f32, M]):  # x\n    x[i] = ak.sum(y.x, x=y, y=M) + "x"\n'
    )


@pytest.mark.slow
@pytest.mark.toolchain
def test_agents_are_recorded_like_any_run_and_zeros_score_nothing(tmp_path: Path):
    some = [task for task in EXPRESSIBLE if task.name in ("vector_add", "mask_indices_by_tp")]
    header = floor_header(some, ("null",))
    found = run_floor(tmp_path, some, ("null",), header)
    assert (found.samples, found.new, found.verdicts) == (2, 2, {"wrong": 2})
    assert run_floor(tmp_path, some, ("null",), header).new == 0
    assert not any(sample.is_correct for sample in read_run(tmp_path).samples)
    (sample,) = floor_samples([task for task in some if task.name == "vector_add"], "nearest_open")
    assert sample.is_correct


def test_the_record_of_the_floor_adds_up_and_zeros_are_worth_nothing():
    record = json.loads(RECORD.read_text())
    for agent, found in record["success"].items():
        verdicts = [row["verdict"] for row in record["samples"] if row["agent"] == agent]
        assert len(verdicts) == found["tasks"]
        right = sum(verdict in ("bit_exact", "within_bound") for verdict in verdicts)
        assert found["right"] == pytest.approx(right / len(verdicts))
    assert record["success"]["null"]["right"] == 0.0
    assert record["success"]["nearest"]["right"] <= record["success"]["nearest_open"]["right"]
