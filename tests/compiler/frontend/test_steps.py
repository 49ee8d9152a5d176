"""`ak.steps`: carried names, bounds, and when a step's block must be written."""

from __future__ import annotations

import numpy as np
import pytest

from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from tests.compiler.frontend.kernels import accepted, codes, lower, text_of

SIGNATURE = "x: ak.In[ak.f32, T, N], n: ak.In[ak.i32, T], c: ak.i32, out: ak.Out[ak.f32, T]"
BEFORE = """for t in ak.grid(T):
    acc = ak.zeros((t,), ak.f32)
    top = ak.full((t,), -ak.inf, ak.f32)
    count = ak.zeros((t,), ak.i32)
    number = 0.0
"""
AFTER = "\n    out[t] = acc + top + count.to(ak.f32)"


def text_with(loop: str, after: str = AFTER) -> str:
    """A kernel with a loop in it, over blocks `t` of rows."""
    return text_of(SIGNATURE, BEFORE + "\n".join(f"    {line}" for line in loop.splitlines()) + after)


def loop_of(text: str) -> Op:
    kernel = accepted(text)
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
    return next(op for op in kernel.body[0].regions[0].ops if op.name == "loop")


FREE = [
    "top = ak.maximum(top, ak.max(x[t, k], axis=1))",
    "top = ak.minimum(ak.min(x[t, k], axis=1), top)",
    "top = ak.maximum(top, ak.absmax(x[t, k], axis=1))",
    "count = count + ak.sum(x[t, k] > 0, axis=1)",
    "top = ak.maximum(acc, 1.0)",
    "top = acc * 2.0",
    "for j in ak.steps(ak.each(3)):\n    count = count + ak.sum(x[t, k] > 0, axis=1)",
    "y = x[t, k] * 2.0\ntop = ak.maximum(top, ak.max(y, axis=1))",
]
BOUND = [
    "acc = acc + ak.max(x[t, k], axis=1)",
    "acc = acc * 0.5 + 1.0",
    "acc = acc + 1.0",
    "count = count + 1",
    "top = ak.maximum(top, ak.max(x[t, k], axis=1) + 1.0)",
    "top = ak.maximum(top, ak.max(x[t, k] + top[:, None], axis=1))",
    "top = ak.maximum(top, ak.max(x[t, k], axis=1))\nacc = top",
    "top = ak.maximum(top, ak.max(x[t, k], axis=1))\ncount = count + ak.sum(x[t, k] > top[:, None], axis=1)",
    "top = ak.max(x[t, k], axis=1)",
    "count = count + ak.sum(count[:, None] + k.index[None, :].to(ak.i32), axis=1)",
    "count = count - ak.sum(x[t, k] > 0, axis=1)",
    "acc, top = top, acc",
]


@pytest.mark.parametrize("update", FREE)
def test_a_free_update_needs_no_block(update: str):
    loop_of(text_with("for k in ak.steps(N):\n" + "\n".join(f"    {line}" for line in update.splitlines())))


@pytest.mark.parametrize("update", BOUND)
def test_any_other_update_asks_for_the_block_and_takes_it(update: str):
    body = "\n".join(f"    {line}" for line in update.splitlines())
    found = lower(text_with(f"for k in ak.steps(N):\n{body}"))
    assert set(codes(found)) == {"AK422"}
    assert "block=128" in found.diagnostics[0].fixes[0].edits[0].text
    loop_of(text_with(f"for k in ak.steps(N, block=128):\n{body}"))


def test_a_float_sum_over_a_free_step_is_rejected_where_it_stands():
    assert codes(lower(text_with("for k in ak.steps(N):\n    acc = acc + ak.sum(x[t, k], axis=1)"))) == ["AK403"]


def test_a_reduction_of_a_free_step_that_goes_elsewhere_is_rejected():
    loop = "for k in ak.steps(N):\n    out[t] = ak.max(x[t, k], axis=1)"
    assert codes(lower(text_with(loop, "\n    out[t] = acc"))) == ["AK403"]


def test_only_names_bound_before_are_carried():
    parts = loop_parts(
        loop_of(text_with("for k in ak.steps(N, block=8):\n    y = x[t, k]\n    acc = acc + ak.sum(y, axis=1)"))
    )
    assert [arg.name for arg in parts.args] == ["acc"]


def test_bounds_of_the_run_are_operands():
    parts = loop_parts(loop_of(text_with("for k in ak.steps(c, N, block=8):\n    acc = acc + 1.0")))
    assert parts.low is not None
    assert parts.high is None
    assert str(parts.type.first) == "%k.lo"


def test_a_tuple_of_tiles_is_carried():
    loop = "pair = (acc, top)\nfor k in ak.steps(ak.each(N)):\n    pair = (pair[1], pair[0] + x[t, k])\nacc, top = pair"
    assert len(loop_of(text_with(loop)).results) == 2


WRONG = [
    ("for k in ak.steps(N, block=8):\n    y = x[t, k]\nacc = ak.sum(y, axis=1)", ["AK201"]),
    ("for k in ak.steps(N, block=8):\n    number = number + 1.0", ["AK420"]),
    ("for k in ak.steps(N, block=8):\n    number = number + ak.sum(x[t, k], axis=1)", ["AK420"]),
    (
        "for k in ak.steps(N, block=8):\n    acc = acc + number\n    for number in ak.steps(3):\n        top = top",
        ["AK420"],
    ),
    ("for k in ak.steps(N, block=8, since=3):\n    acc = acc + number\n    number = 2.0", ["AK420"]),
    (
        "for k in ak.steps(N, block=8):\n    for number in ak.steps(3):\n        top = top\nacc = acc + number",
        ["AK201"],
    ),
    ("two = (1, 2)\nfor k in ak.steps(N, block=8):\n    acc = acc + two[0]\n    two = (3, 4)", ["AK421"]),
    ("two = (1, 2)\nfor k in ak.steps(N, block=8):\n    two = (3, 4)\nacc = acc + two[0]", ["AK201"]),
    ("for k in ak.steps(N, block=8):\n    acc = acc[:, None]", ["AK421"]),
    ("for k in ak.steps(N, block=8):\n    acc = count", ["AK421"]),
    ("pair = (acc,)\nfor k in ak.steps(N, block=8):\n    pair = (*pair, top)", ["AK421"]),
    ("for k in ak.steps(N, block=n):\n    acc = acc + 1.0", ["AK218"]),
    ("for k in ak.steps(N, block=0):\n    acc = acc + 1.0", ["AK121"]),
    ("for k in ak.steps(ak.each(N), block=2):\n    acc = acc + 1.0", ["AK121"]),
    ("for k in ak.steps():\n    acc = acc + 1.0", ["AK122"]),
    ("for k in ak.steps(1, 2, 3):\n    acc = acc + 1.0", ["AK122"]),
    ("for k in ak.steps(N, size=2):\n    acc = acc + 1.0", ["AK122"]),
    ("for k, j in ak.steps(N, block=2):\n    acc = acc + 1.0", ["AK121"]),
    ("for k in ak.steps(acc):\n    acc = acc + 1.0", ["AK215"]),
    ("for k in ak.steps(1.5):\n    acc = acc + 1.0", ["AK215"]),
    ("for k in ak.steps(N):\n    count = count + k.ordinal.to(ak.i32)", ["AK401"]),
    ("for k in ak.steps(N, block=8):\n    acc = acc + wrong", ["AK201"]),
]


@pytest.mark.parametrize(("loop", "expected"), WRONG)
def test_a_wrong_loop_is_rejected(loop: str, expected: list[str]):
    assert codes(lower(text_with(loop))) == expected


def test_a_number_that_no_step_reads_first_may_be_bound_anew():
    loop_of(text_with("for k in ak.steps(N, block=8):\n    number = 2.0\n    acc = acc + number"))


LIMITS = [
    ("for k in ak.steps(N, until=t.index + 1):\n    acc = acc + 1.0", ["AK423"]),
    ("for k in ak.steps(N, since=3):\n    acc = acc + 1.0", ["AK423"]),
    ("for k in ak.steps(N):\n    top = ak.maximum(top, 1.0)\n    if c > 3:\n        break", ["AK423"]),
    ("for k in ak.steps(N, block=8, until=acc):\n    acc = acc + 1.0", ["AK424"]),
    ("for k in ak.steps(N, block=8, until=ak.zeros((3,), ak.i32)):\n    acc = acc + 1.0", ["AK424"]),
    ("for k in ak.steps(N, block=8, until=t.index[:, None]):\n    acc = acc + 1.0", ["AK424"]),
    ("for k in ak.steps(N, block=8):\n    acc = acc + 1.0\n    if acc > 3.0:\n        break", ["AK424"]),
    ("for k in ak.steps(N, block=8):\n    acc = acc + 1.0\n    if c:\n        break", ["AK206"]),
    ("for k in ak.steps(N, block=8):\n    acc = acc + 1.0\n    break", ["AK105"]),
    ("for k in ak.steps(N, block=8, until=t.index):\n    out[t] = acc", ["AK604"]),
    ("for k in ak.steps(N, block=8, until=t.index):\n    ak.store(out[t], acc)", ["AK604"]),
    (
        "for k in ak.steps(N, block=8, until=t.index):\n    for j in ak.steps(3, block=1):\n        out[t] = acc",
        ["AK604"],
    ),
    ("if c > 0:\n    acc = acc[:, None]", ["AK421"]),
    ("if c > 0:\n    y = acc + 1.0\nacc = y", ["AK201"]),
    ("if c > 0:\n    y = 1.0\nelse:\n    y = 2.0\nacc = acc + y", ["AK420"]),
    (
        "for i in range(2):\n    acc = acc + i\nif c > 0:\n    for i in range(3):\n        acc = acc + i\nacc = acc + i",
        ["AK420"],
    ),
    ("if c:\n    acc = acc + 1.0", ["AK206"]),
]


@pytest.mark.parametrize(("loop", "expected"), LIMITS)
def test_what_runs_is_said_by_a_scalar_or_by_rows(loop: str, expected: list[str]):
    assert codes(lower(text_with(loop))) == expected


RUNS = [
    "for k in ak.steps(N, block=8, until=t.index):\n    for i in ak.elements(t):\n        acc[i] = acc[i] + 1.0",
    "for k in ak.steps(N, block=8, until=t.index + 1, since=c):\n    acc = acc + ak.sum(x[t, k], axis=1)",
    "for k in ak.steps(ak.each(N)):\n    acc = acc + x[t, k]\n    if c > 3:\n        break\n    acc = acc * 2.0",
    "for k in ak.steps(N, block=8, since=3):\n    for i in range(3):\n        acc = acc + i",
    "for i in range(2):\n    acc = acc + i\nfor k in ak.steps(N, block=8, since=3):\n    for i in range(3):\n        acc = acc * i",
    "for i in range(2):\n    acc = acc + i\nfor k in ak.steps(N, block=8):\n    if c > 0:\n        for i in range(3):\n            acc = acc * i",
    "two = (1, 2)\nfor k in ak.steps(N, block=8):\n    two = (3, 4)\n    acc = acc + two[0]",
    "for k in ak.steps(ak.each(N)):\n    if False:\n        break\n    acc = acc * 2.0",
    "for k in ak.steps(N, block=8):\n    if c > 0:\n        acc = acc + 1.0\n    else:\n        acc = 0.0",
]


@pytest.mark.parametrize("loop", RUNS)
def test_a_limited_loop_is_accepted(loop: str):
    loop_of(text_with(loop))


def test_a_helper_may_not_store_for_rows_that_run_different_steps():
    helper = "@ak.inline\ndef put(y, t, v):\n    y[t] = v\n\n\n@ak.kernel"
    text = text_with("for k in ak.steps(N, block=8, until=t.index):\n    put(out, t, acc)")
    assert codes(lower(text.replace("@ak.kernel", helper))) == ["AK604"]
    text = text_with("for k in ak.steps(N, block=8, until=3):\n    put(out, t, acc)")
    accepted(text.replace("@ak.kernel", helper))


def test_a_choice_merges_names_that_both_branches_bind():
    accepted(text_with("if c > 0:\n    y = acc + 1.0\nelse:\n    y = 0.0\nacc = y"))


def test_a_return_inside_a_loop_of_a_helper_is_rejected():
    helper = "@ak.inline\ndef f(x, t):\n    for k in ak.steps(3):\n        return x\n\n\n@ak.kernel"
    text = text_with("acc = f(acc, t)").replace("@ak.kernel", helper)
    assert "AK105" in codes(lower(text))


def test_a_running_sum_is_numpys_step_by_step():
    x = np.random.default_rng(5).normal(size=(3, 20)).astype(np.float32)
    out = np.zeros(3, np.float32)
    kernel = accepted(text_with("for k in ak.steps(N, block=8):\n    acc = acc * 0.5 + ak.max(x[t, k], axis=1)"
                                "\n    count = count + 1", "\n    out[t] = acc + count.to(ak.f32)"))  # fmt: skip
    interpret(kernel, {"x": x, "n": np.zeros(3, np.int32), "out": out}, {"T": 3, "N": 20}, {"c": 0})
    want = np.zeros(3, np.float32)
    for start in range(0, 20, 8):
        want = want * np.float32(0.5) + x[:, start : start + 8].max(axis=1)
    np.testing.assert_array_equal(out, want + 3)


@pytest.mark.parametrize("block", [1, 3, 64])
def test_free_steps_have_the_bits_of_the_whole_axis(block: int):
    x = np.random.default_rng(6).normal(size=(3, 20)).astype(np.float32)
    out = np.zeros(3, np.float32)
    kernel = accepted(text_with("for k in ak.steps(c, N):\n    top = ak.maximum(top, ak.max(ak.load(x[t, k], where="
                                "k.index[None, :] >= 0, fill=0), axis=1))", "\n    out[t] = top"))  # fmt: skip
    arrays = {"x": x, "n": np.zeros(3, np.int32), "out": out}
    interpret(kernel, arrays, {"T": 3, "N": 20}, {"c": 4}, free_block=block)
    np.testing.assert_array_equal(out, x[:, 4:].max(axis=1))
