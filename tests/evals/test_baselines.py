"""What a submission is timed beside does the task's work at its precision, and is called as it was checked."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path

import pytest
import torch

from agentkern.evals.baselines import NARROW, WIDE, Held, baseline_criterion, held_baselines, started_baselines
from agentkern.evals.candidates import agentkern as candidate_module
from agentkern.evals.candidates.agentkern import AgentkernCandidate, given_values
from agentkern.evals.candidates.protocol import CandidateUnavailable
from agentkern.evals.judge_cases import make_bench
from agentkern.evals.task import default_tasks, read_task, read_tasks
from agentkern.evals.task_inputs import task_call
from agentkern.tools.profile_job import promise_of
from agentkern.tools.profile_measure import load_peer
from agentkern.tools.results import ProfileResult
from agentkern.tools.verify_reference_worker import from_torch, named_outputs, to_torch

EXPRESSIBLE = [task for task in read_tasks() if not task.is_blocked]
TASKS = {task.name: task for task in EXPRESSIBLE}


def held(folder: Path) -> Held:
    """Hold the baselines of a folder's task; the reference starts when it is asked."""
    bench = make_bench(read_task(folder))
    try:
        with started_baselines(bench) as started:
            return held_baselines(bench, started)
    finally:
        bench.close()


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """Return a copy of a task with one place of its baseline changed."""
    folder = Path(shutil.copytree(default_tasks() / name, tmp_path / name))
    head, mark, body = (folder / "reference.py").read_text().partition("def baseline(")
    assert body.count(old) == 1
    (folder / "reference.py").write_text(head + mark + body.replace(old, new))
    return folder


def with_body(tmp_path: Path, body: str) -> Path:
    """Return the task `outer_add` with another baseline."""
    return changed(tmp_path, "outer_add", "return a[:, None] + b[None, :]", body)


def test_a_baseline_that_is_right_says_how_near_it_is():
    found = held(default_tasks() / "outer_add")
    assert found.problems == ()
    assert found.agreed["torch"].startswith("right in ")
    assert found.agreed["torch"].endswith("at least 1.000000 bit-equal")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return a[:, None] - b[None, :]", "is held to bound:max_ulp=1,min_equal_share=0.99"),
        ("return (a.bfloat16()[:, None] + b.bfloat16()).half()", "is held to bound:max_ulp=1,min_equal_share=0.99"),
        ("raise ValueError('no')", "`baseline` raised ValueError: no"),
        ("a.add_(1); return a[:, None] + b[None, :]", "`baseline` changes its argument `a` in place"),
        ("return a.float()[:, None] + b", "`baseline` raised ValueError: `out` is returned in f32, not f16"),
        ("return a + a", "`out` of `baseline` has shape"),
        ("return a, b", "`baseline` returns 2 tensors"),
        ("return None", "`baseline` returns `NoneType`, not tensors of torch"),
    ],
)
def test_a_baseline_that_does_something_else_is_told(tmp_path: Path, body: str, reason: str):
    found = held(with_body(tmp_path, body))
    assert found.agreed == {}
    assert len(found.problems) == 1
    assert found.problems[0].startswith("the baseline `torch`: ")
    assert reason in found.problems[0]


def test_the_tasks_own_bound_refuses_steps_in_bf16(tmp_path: Path):
    spoiled = changed(tmp_path, "silu_and_mul", "x.float().chunk", "x.chunk")
    assert "max_ulp=1,min_equal_share=0.999" in held(spoiled).problems[0]


def test_exact_sums_may_have_another_order_but_not_less_precision(tmp_path: Path):
    loop = "for slot in weight.unbind(dim=1):"
    folder = changed(tmp_path, "normalize_weight", loop, "for slot in weight.flip(1).unbind(dim=1):")
    file = folder / "task.toml"
    positive = 'dtype = "f32", shape = ["T", "K"], values = { positive = true, finite = true } }'
    file.write_text(file.read_text().replace('dtype = "f32", shape = ["T", "K"] }', positive, 1))
    found = held(folder)
    assert found.problems == ()
    assert "at least 1.000000" not in found.agreed["torch"]
    reference = folder / "reference.py"
    reference.write_text(reference.read_text().replace("weight.flip(1).unbind", "weight.bfloat16().float().unbind"))
    assert "held to bound:max_ulp=16" in held(folder).problems[0]


def test_integers_are_equal_or_the_baseline_is_refused(tmp_path: Path):
    spoiled = changed(tmp_path, "group_count", ", max=G).int()", ", max=G).int().clamp(min=1)")
    assert "is held to bit_exact" in held(spoiled).problems[0]


def test_free_outputs_are_held_to_the_check_of_the_task(tmp_path: Path):
    spoiled = changed(tmp_path, "top2_sum_gate", "1e-20 +", "1e-3 +")
    assert "weight[" in held(spoiled).problems[0]


def test_what_a_partial_output_keeps_is_not_asked_of_a_baseline(tmp_path: Path):
    elsewhere = "torch.where(expert < 0, 0.0, 3.0)[:, None].to(x.dtype), x["
    assert held(changed(tmp_path / "kept", "expand_to_fused", "0.0, x[", elsewhere)).problems == ()
    assert "out[" in held(changed(tmp_path / "zeros", "expand_to_fused", "0.0, x[", "3.0, x[")).problems[0]


def test_what_a_baseline_is_held_to_follows_from_criterion_and_dtype():
    kinds = {
        name: baseline_criterion(TASKS[name]).outputs
        for name in ("argmax", "per_block_cast", "layer_norm", "fused_add_rms_norm")
    }
    assert kinds["argmax"]["value"] == WIDE
    assert kinds["argmax"]["index"] == TASKS["argmax"].criterion.outputs["index"]
    assert kinds["per_block_cast"] == {"q": NARROW, "sf": WIDE}
    assert kinds["layer_norm"] == TASKS["layer_norm"].criterion.outputs
    assert kinds["fused_add_rms_norm"]["residual"] == NARROW


@pytest.mark.slow
@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_every_baseline_holds(task):
    assert held(task.folder).problems == ()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_every_baseline_is_one_graph_that_waits_for_no_value(task):
    call = task_call(task, "random", task.shapes.shown[0], 3)
    given = [to_torch(p.dtype.name, call.tensors[p.name]) for p in task.signature.inputs]
    given += [call.scalars[scalar.name] for scalar in task.signature.scalars]
    function = load_peer(task.reference.path, "baseline")
    sizes = {name: call.sizes[name] for name in list(inspect.signature(function).parameters)[len(given) :]}
    torch._dynamo.reset()
    whole = torch.compile(function, dynamic=False, fullgraph=True, backend="aot_eager")
    names = [p.name for p in task.signature.outputs]
    want, got = (named_outputs(one(*given, **sizes), names) for one in (function, whole))
    assert {name: from_torch(t)[1].tobytes() for name, t in got.items()} == {
        name: from_torch(t)[1].tobytes() for name, t in want.items()
    }


@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_integers_are_timed_as_they_are_judged(task):
    given = {name: promise_of(values) for name, values in given_values(task).items()}
    read = [t for t in task.tensors if t.access != "out"]
    assert given == {t.name: t.values.promise for t in read if t.values.promise is not None}


def test_a_submission_is_timed_beside_the_tasks_baseline_on_the_tasks_values(monkeypatch: pytest.MonkeyPatch):
    asked: list[candidate_module.ProfileRequest] = []

    def profile(request: candidate_module.ProfileRequest) -> ProfileResult:
        asked.append(request)
        return ProfileResult(status="unavailable", summary="no GPU")

    monkeypatch.setattr(candidate_module, "profile", profile)
    task = TASKS["topk_selector"]
    assert task.solution is not None
    with pytest.raises(CandidateUnavailable):
        AgentkernCandidate(task, task.solution.text, task.solution.kernel).time(task.shapes.bench[0])
    assert asked[0].against == ("torch", "torch.compile")
    assert (asked[0].peers, asked[0].peer) == (str(task.folder / "reference.py"), "baseline")
    assert asked[0].values == given_values(task)
    assert asked[0].values["start"].high == "N + 1"
