"""Lists of tensors: annotations, picking one at compile time, and what is no pick."""

from __future__ import annotations

import pytest

from agentkern.compiler.abi import ListParam, lists_of
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.tools.check import signature_text
from tests.compiler.frontend.kernels import accepted, codes, lower, text_of

PARAMS = "xs: ak.List[ak.In[ak.f32, T, 4], 3], n: ak.i32, s: ak.f32, out: ak.Out[ak.f32, T, 4]"
READS = [
    ("xs[t][t, :]", "AK604", "xs[n][t, :]"),
    ("xs[t.index][t, :]", "AK604", "xs[T][t, :]"),
    ("xs[s][t, :]", "AK221", "xs[n + 1][t, :]"),
    ("xs[n, t, :]", "AK208", "xs[-1][t, :]"),
    ("xs[n]", "AK217", "xs[n][t, :]"),
    ("xs[n:][0][t, :]", "AK218", "xs[3 - 1][t, :]"),
    ("xs[3][t, :]", "AK222", "xs[0][t, :]"),
    ("xs[0, t, :]", "AK208", "xs[0][t, :]"),
    ("xs[0]", "AK217", "xs[0][t, :]"),
    ("xs", "AK223", "xs[1:][0][t, :]"),
    ("xs[1.0][t, :]", "AK218", "xs[1][t, :]"),
    ("ak.load(xs[0, t, :], fill=0)", "AK208", "ak.load(xs[0][t, :], fill=0)"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), READS, ids=[f"{c}: {w}" for w, c, _ in READS])
def test_a_pick_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    assert codes(lower(text_of(PARAMS, f"for t in ak.grid(T):\n    out[t, :] = {wrong}"))) == [code]
    accepted(text_of(PARAMS, f"for t in ak.grid(T):\n    out[t, :] = {right}"))


ANNOTATIONS = [
    ("xs: ak.List", "AK213", "xs: ak.List[ak.In[ak.f32, T], 2]"),
    ("xs: ak.List[ak.In[ak.f32, T]]", "AK213", "xs: ak.List[ak.In[ak.f32, T], 0]"),
    ("xs: ak.List[ak.f32, 2]", "AK213", "xs: ak.List[ak.In[ak.f32, T], 2] | None"),
    ("xs: ak.List[ak.In[ak.f32, T], T]", "AK213", "xs: ak.List[ak.In[ak.f32, T], H]"),
    ("xs: ak.List[ak.In[ak.f32, T], -1]", "AK215", "xs: ak.List[ak.In[ak.f32, T], H + 1]"),
    ("xs: ak.List[ak.In[ak.f32, T], UNKNOWN]", "AK203", "xs: ak.List[ak.In[ak.f32, T], ak.cdiv(H, 2)]"),
    ("xs: ak.List[ak.In[ak.i32, T], 2].distinct()", "AK213", "xs: ak.List[ak.In[ak.i32, T].distinct(), 2]"),
    ("xs: ak.List[ak.List[ak.In[ak.f32, T], 2], 2]", "AK213", "xs: ak.List[ak.In[ak.f32, 2, T], 2]"),
    ("xs: ak.List[ak.Out[ak.f32, T], 2]", "AK310", "xs: ak.List[ak.In[ak.f32, T], 2]"),
    ("xs: ak.List[ak.In[ak.f32, T], 2] = 1", "AK214", "xs: ak.List[ak.In[ak.f32, T], 2]"),
    ("xs: ak.List[ak.In[ak.f32, T], 5000]", "AK213", "xs: ak.List[ak.In[ak.f32, T], 50]"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), ANNOTATIONS, ids=[f"{c}: {w}" for w, c, _ in ANNOTATIONS])
def test_an_annotation_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    body = "for t in ak.grid(T):\n    out[t] = 1.0"
    assert codes(lower(text_of(f"out: ak.Out[ak.f32, T], {wrong}", body))) == [code]
    accepted(text_of(f"{right}, out: ak.Out[ak.f32, T]", body))


def test_the_first_tensor_of_a_list_that_is_not_written_is_reported_once():
    text = text_of("ys: ak.List[ak.Out[ak.f32, T], 3]", "for t in ak.grid(T):\n    ys[1][t] = 1.0")
    assert [d.message for d in lower(text).diagnostics] == ["output `ys[0]` is never written"]


def test_a_store_to_a_whole_list_entry_says_what_to_write():
    text = text_of("ys: ak.List[ak.Out[ak.f32, T], 1]", "for t in ak.grid(T):\n    ys[0] = 1.0")
    assert [(d.code, d.hint) for d in lower(text).diagnostics] == [("AK217", "write `ys[0][:] = ...`")]


OPEN = """\
import agentkern as ak

T, L = ak.dim("T"), ak.static("L")


@ak.kernel
def k(a: ak.i32, xs: ak.List[ak.In[ak.i32, T].values(0, T), L + 1], ys: ak.List[ak.Out[ak.i32, T], L + 1]):
    for t in ak.grid(T):
        for x, y in ((0, 1), (1, 0)):
            ys[y][t] = xs[x][t] + a
"""


def test_a_list_whose_length_is_open_waits_for_its_number():
    found = lower_source(OPEN, "kernel.py")
    assert found.kernel is None
    assert {d.code for d in found.diagnostics} == {"AK803"}
    assert found.outline is not None
    assert signature_text(found.outline) == "k(a: i32, xs: List[In[i32, T], L + 1], ys: List[Out[i32, T], L + 1])"


def test_each_tensor_of_a_list_is_a_parameter_with_its_promises():
    kernel = lower_source(OPEN, "kernel.py", dims={"L": 1}).kernel
    assert kernel is not None
    assert [value.name for value in kernel.params] == ["a", "xs[0]", "xs[1]", "ys[0]", "ys[1]"]
    assert [row[0] for row in kernel.attrs["promises"]] == ["xs[0]", "xs[1]"]  # pyright: ignore[reportGeneralTypeIssues]
    assert lists_of(kernel) == (ListParam("xs", 1, 2, "in"), ListParam("ys", 3, 2, "out"))
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)


def test_a_list_can_be_run_through_cut_and_passed_to_a_helper():
    helper = "@ak.inline\ndef first(xs, t):\n    return xs[0][t, :]\n\n\n"
    text = text_of(
        PARAMS,
        "for t in ak.grid(T):\n    total = first(xs, t)\n    for x in xs[1:]:\n        total = total + x[t, :]\n"
        "    for x in xs:\n        total = total + x[t, :]\n    out[t, :] = total",
    ).replace("@ak.kernel", f"{helper}@ak.kernel", 1)
    kernel = accepted(text)
    assert sum(op.name == "load" for op in kernel.body[0].regions[0].ops) == 6
