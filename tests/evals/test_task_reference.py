"""A task's reference answers in its own process; what it may not do is told by its file's name."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from agentkern.evals.task import default_tasks, read_task
from agentkern.evals.task_inputs import task_call
from agentkern.evals.task_reference import start_answers, wrong_elements
from agentkern.tools.reference_process import ReferenceFailure


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a task that may be spoiled, without its baseline."""
    copied = Path(shutil.copytree(default_tasks() / "outer_add", tmp_path / "outer_add"))
    file = copied / "task.toml"
    file.write_text(file.read_text().partition("[baselines]")[0])
    return copied


def failure(folder: Path, body: str) -> str:
    (folder / "reference.py").write_text(f"import torch\n\n\ndef reference(a, b):\n    {body}\n")
    task = read_task(folder)
    with pytest.raises(ReferenceFailure) as caught:
        start_answers(task, [task_call(task, "random", {"N": 3, "M": 2}, 1)]).answers()
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no')", "raised ValueError: no"),
        ("return a", "has shape [3], not [3, 2]"),
        ("return a, b", "returns 2 tensors, the kernel has outputs out"),
        ("a.zero_(); return a[:, None] + b", "changes its argument `a` in place"),
        ("return None", "returns `NoneType`, not tensors of torch"),
        ("return (a[:, None] + b).numpy()", "returns `ndarray`, not tensors of torch"),
        ("return [3.0]", "`out` of the reference is of `float`, not a tensor of torch"),
        ("return {'o': a}", "the reference returns no `out`"),
        ("return (a[:, None] + b).to(torch.complex64)", "torch.complex64 is no dtype of the language"),
        ("import os; os._exit(0)", "ended its process before it had answered"),
    ],
)
def test_a_reference_that_misbehaves_is_told_by_its_file(folder: Path, body: str, reason: str):
    message = failure(folder, body)
    assert message.startswith(str(folder / "reference.py"))
    assert reason in message


def test_free_outputs_are_judged_by_the_check_of_the_task():
    task = read_task(default_tasks() / "top2_sum_gate")
    call = task_call(task, "random", task.shapes.shown[1], 3)
    right = dict(start_answers(task, [call]).answers()[0].outputs)
    turned = right | {"index": right["index"][:, ::-1].copy(), "weight": right["weight"][:, ::-1].copy()}
    outside = right | {"index": right["index"] + 4096}
    heavier = right | {"weight": right["weight"] * np.float32(1.001)}
    marks = wrong_elements(task, [call] * 4, [right, turned, outside, heavier])
    assert not marks[0]["index"].any()
    assert not marks[0]["weight"].any()
    assert marks[1]["index"].any()
    assert marks[2]["index"].all()
    assert not marks[3]["index"].any()
    assert marks[3]["weight"].all()


def test_what_a_reference_leaves_behind_is_not_waited_for(folder: Path):
    body = "import subprocess; subprocess.Popen(['sleep', '20']); return a[:, None] + b"
    (folder / "reference.py").write_text(f"def reference(a, b):\n    {body}\n")
    task = read_task(folder)
    started = time.monotonic()
    (answer,) = start_answers(task, [task_call(task, "random", {"N": 3, "M": 2}, 1)]).answers()
    assert answer.outputs["out"].shape == (3, 2)
    assert time.monotonic() - started < 15


def test_a_lower_limit_of_memory_than_usual_is_kept(folder: Path):
    text = (
        "import resource\n\n\ndef reference(a, b):\n    raise ValueError(resource.getrlimit(resource.RLIMIT_AS)[0])\n"
    )
    (folder / "reference.py").write_text(text)
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "from pathlib import Path\nfrom agentkern.evals.task import read_task\n"
        "from agentkern.evals.task_inputs import task_call\nfrom agentkern.evals.task_reference import start_answers\n"
        f"task = read_task(Path({str(folder)!r}))\n"
        "start_answers(task, [task_call(task, 'random', {'N': 3, 'M': 2}, 1)]).answers()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"raised ValueError: {8 << 30}" in done.stderr
