"""The judge of trials accepts a right kernel and names what is wrong with others."""

from __future__ import annotations

import pytest

from evals.trials.judge import judge, tasks
from evals.trials.references import REFERENCES
from evals.trials.references_2 import REFERENCES_2

KERNEL = """import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def branch_sum(x: ak.In[ak.bf16, T, 4, H], out: ak.Out[ak.bf16, T, H]):
    for t in ak.grid(T):
        out[t, :] = {value}
"""
RIGHT = KERNEL.format(value="ak.sum(x[t, :, :].to(ak.f32), axis=1).to(ak.bf16)")


def test_every_task_has_a_reference_and_a_signature_that_is_read():
    found = tasks()
    assert set(found) == {*REFERENCES, *REFERENCES_2}
    assert (len(REFERENCES), len(REFERENCES_2)) == (15, 15)
    for task in found.values():
        names = {name for name, (access, *_) in task.tensors.items() if access != "In"}
        assert names, task.name


@pytest.mark.toolchain
def test_a_right_kernel_passes():
    assert judge(tasks()["branch_sum"], RIGHT) is None


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("x[t, 0, :] + x[t, 1, :] + x[t, 2, :] + x[t, 3, :]", "differ"),  # rounds three times
        ("ak.sum(x[t, :, :].to(ak.f32), axis=1)", "AK210"),
        ("ak.zeros((t, H), ak.bf16)", "differ"),
    ],
)
def test_a_wrong_kernel_is_named(value, what):
    wrong = judge(tasks()["branch_sum"], KERNEL.format(value=value))
    assert wrong is not None
    assert what in wrong


def test_prose_is_no_kernel():
    assert "rejected" in str(judge(tasks()["branch_sum"], "Here is the kernel you asked for."))
