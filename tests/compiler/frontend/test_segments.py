"""`ak.segments`: what misuses it is rejected with a fix that makes it right, and its near miss is accepted."""

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.diagnostics import Diagnostic, apply_fix

HEAD = """\
import agentkern as ak

T, E, N = ak.dim("T"), ak.dim("E"), ak.dim("N")


@ak.kernel
def k(x: ak.In[ak.f32, T, N], w: ak.In[ak.f32, E, N], offsets: ak.In[ak.i32, E + 1].offsets(T),
      raw: ak.In[ak.i32, E + 1], wide: ak.In[ak.u64, E + 1].offsets(T), own: ak.InOut[ak.i32, E + 1].offsets(T),
      out: ak.Out[ak.f32, T, N]):
    for n in ak.grid(E + 1):
        own[n] = raw[n]
"""


def loop(head: str, value: str, target: str = "m, n") -> str:
    return f"{HEAD}    for {head}:\n        out[{target}] = {value}\n"


def diagnosed(text: str) -> tuple[Diagnostic, ...]:
    return compile_kernel(CompileRequest(text, "kernel.py")).diagnostics


SEGMENT, ROWS = "s, n in ak.grid(ak.segments(offsets), N)", "(s, m), n in ak.grid(ak.segments(offsets).blocks(), N)"
FIXED = [
    pytest.param(loop("(s, m), n in ak.grid(ak.segments(offsets), N)", "x[m, n]"), "AK121", id="blocks-forgotten"),
    pytest.param(
        loop("s, m in ak.grid(ak.segments(offsets))", "x[m, :]", "m, :"), "AK121", id="blocks-forgotten-alone"
    ),
    pytest.param(loop("s, n in ak.grid(ak.segments(raw), N)", "x[s, n]", "s, n"), "AK411", id="nothing-promised"),
    pytest.param(loop(ROWS, "x[m, n] * w[s, n]"), "AK412", id="a-segment-for-its-number"),
    pytest.param(loop(ROWS, "ak.where(s == 0, 1.0, x[m, n])"), "AK405", id="compared-with-a-number"),
    pytest.param(loop(ROWS, "x[m, n] * m.ordinal.to(ak.f32)"), "AK401", id="number-of-a-free-block"),
    pytest.param(loop("s in ak.segments(offsets)", "x[s, 0:1]", "s, :"), "AK105", id="no-grid"),
    pytest.param(loop(SEGMENT, "x[s.start:s.end, n]", "s, n"), "AK603", id="sliced-by-its-bounds"),
    pytest.param(loop(SEGMENT, "x[s, n] / s.size.to(ak.f32)", "s, n"), "AK402", id="its-length"),
    pytest.param(
        f"{HEAD}    for {SEGMENT}:\n        for t in ak.steps(s):\n            out[t, n] = x[t, n]\n",
        "AK215",
        id="steps",
    ),
]


@pytest.mark.parametrize(("text", "code"), FIXED)
def test_a_misuse_is_rejected_and_its_fix_is_accepted(text: str, code: str):
    (found,) = diagnosed(text)
    assert found.code == code
    after = diagnosed(apply_fix(text, found.fixes[0]))
    assert [d.code for d in after] in ([], ["AK302"])  # of `x[s, 0:1]` N may be 0


WRONG = [
    ("(s, m, r), n in ak.grid(ak.segments(offsets).blocks(), N)", "AK121"),
    ("s, m, n in ak.grid(ak.segments(offsets).blocks(), N)", "AK121"),
    ("m, n in ak.grid(ak.segments(offsets).blocks(), N)", "AK121"),
    ("(s, s), n in ak.grid(ak.segments(offsets).blocks(), N)", "AK114"),
    ("(s, m), n in ak.grid(ak.segments(offsets).blocks(64), N)", "AK122"),
    ("(s, m), n in ak.grid(ak.segments(offsets).blocks(size=64), N)", "AK122"),
    ("(s, m), n in ak.grid(ak.segments(offsets).blocks(block=0), N)", "AK121"),
    ("(s, m), n in ak.grid(ak.segments(offsets).rows(), N)", "AK122"),
    ("(s, m), n in ak.grid(ak.segments(offsets, T).blocks(), N)", "AK122"),
    ("(s, m), n in ak.grid(ak.segments(x).blocks(), N)", "AK411"),
    ("(s, m), n in ak.grid(ak.segments(T).blocks(), N)", "AK411"),
    ("(s, m), n in ak.grid(ak.segments(own).blocks(), N)", "AK411"),
    ("(s, m), n in ak.grid(ak.segments(wide).blocks(), N)", "AK411"),
    ("(s, m), n in ak.grid(ak.segments(offsets).blocks(), N, block=(64, None))", "AK121"),
    ("(s, m), n in ak.grid(T, N)", "AK121"),
]


@pytest.mark.parametrize(("head", "code"), WRONG)
def test_a_head_is_rejected(head: str, code: str):
    assert code in [d.code for d in diagnosed(loop(head, "x[m, n]"))]


@pytest.mark.parametrize(
    "head",
    [
        ROWS,
        "(_, m), n in ak.grid(ak.segments(offsets).blocks(block=64), N)",
        "(s, m), n in ak.grid(ak.segments(offsets).blocks(block=None), N, block=(None, 32))",
        "n, [s, m] in ak.grid(N, ak.segments(offsets).blocks())",
    ],
)
def test_a_near_miss_is_accepted(head: str):
    assert diagnosed(loop(head, "x[m, n]")) == ()


def test_a_segment_outside_a_grid_says_where_it_stands():
    (found, *_) = diagnosed(
        f"{HEAD}    every = ak.segments(offsets)\n    for {SEGMENT}:\n        out[s, n] = x[s, n]\n"
    )
    assert (found.code, found.hint) == (
        "AK109",
        "`ak.segments` is an axis of a grid: `for s in ak.grid(ak.segments(offsets)):`",
    )


def test_a_rejected_store_is_no_output_without_a_store():
    assert [d.code for d in diagnosed(loop(SEGMENT, "x[s, n]", "s.start:s.end, n"))] == ["AK603"]
