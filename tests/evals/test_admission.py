"""The gate: every wrong kernel of every task fails, the solution passes, the record in the repository is current."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agentkern.evals.admission import LEAST_REJECTED, admit, admit_result
from agentkern.evals.mutants import mutants
from agentkern.evals.nulls import null_kernels
from agentkern.evals.task import default_tasks, read_task, read_tasks
from agentkern.tools.check import check
from agentkern.tools.requests import CheckRequest

TASKS = read_tasks()
EXPRESSIBLE = [task for task in TASKS if not task.is_blocked]


@pytest.mark.slow
@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_wrong_kernels_fail_and_the_solution_passes(task):
    found = admit(task)
    assert found.problems == ()
    assert len(found.rejected) >= LEAST_REJECTED


@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_null_kernels_build_for_every_signature(task):
    static = {name: task.shapes.shown[0][name] for name in task.static}
    for kind, texts in null_kernels(task).items():
        requests = (CheckRequest(source=w.source, path="null.py", kernel=w.kernel, dims=static) for w in texts)
        assert "ok" in (check(request).status for request in requests), kind


def test_mutants_differ_from_the_solution_and_from_one_another():
    task = next(task for task in EXPRESSIBLE if task.name == "softmax")
    texts = [wrong.source for kind in mutants(task).values() for wrong in kind]
    assert len(texts) > 20
    assert len(set(texts)) == len(texts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a task that may be spoiled."""
    return Path(shutil.copytree(default_tasks() / "outer_add", tmp_path / "outer_add"))


@pytest.mark.slow
def test_a_criterion_that_lets_wrong_kernels_through_is_refused(folder: Path):
    file = folder / "task.toml"
    loose = 'kind = "bound"\nmax_ulp = 30000'
    file.write_text(file.read_text().replace('kind = "bit_exact"', loose))
    found = admit(read_task(folder))
    assert not found.is_admitted
    assert any(problem.startswith("lower precision of the result, passes") for problem in found.problems)


@pytest.mark.slow
def test_a_task_whose_answer_ignores_an_input_is_refused(folder: Path):
    reference, solution = folder / "reference.py", folder / "solution.py"
    reference.write_text(reference.read_text().replace("b.numpy()", "0 * b.numpy()"))
    solution.write_text(solution.read_text().replace("b[m]", "(b[m] * 0.0)"))
    file = folder / "task.toml"
    text = file.read_text().replace("features", 'kinds = ["integers"]\nfeatures')
    file.write_text(text)
    found = admit(read_task(folder))
    assert "the answer does not depend on `b`" in found.problems


@pytest.mark.slow
def test_a_baseline_that_computes_in_less_is_refused_and_one_that_holds_is_recorded(folder: Path):
    reference = folder / "reference.py"
    text = reference.read_text()
    assert admit(read_task(folder)).baselines.keys() == {"torch"}
    reference.write_text(text.replace("a[:, None] + b[None, :]", "(a.bfloat16()[:, None] + b.bfloat16()).half()"))
    found = admit(read_task(folder))
    assert not found.is_admitted
    assert found.baselines == {}
    assert [p for p in found.problems if p.startswith("the baseline `torch`: ") and "bound:max_ulp=1" in p]
    assert "mend its baseline in reference.py" in admit_result([found]).summary


@pytest.mark.slow
def test_a_solution_that_is_wrong_is_refused(folder: Path):
    solution = folder / "solution.py"
    solution.write_text(solution.read_text().replace(" + ", " - "))
    found = admit(read_task(folder))
    assert [problem for problem in found.problems if problem.startswith("the solution: wrong")]


def test_what_breaks_before_the_gate_is_a_problem_of_its_task(monkeypatch: pytest.MonkeyPatch):
    def broken(_task: object) -> None:
        raise ValueError("no mutants")

    monkeypatch.setattr("agentkern.evals.admission.mutants.mutants", broken)
    found = admit(read_task(default_tasks() / "copy_1d"))
    assert not found.is_admitted
    assert found.problems == ("no judgement: ValueError: no mutants",)
