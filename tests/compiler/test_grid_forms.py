"""Forms of a grid's axes: `ak.each(lo, hi)`, `ak.parts(...)`; slices of rows that do not fit the chip."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "column_sums_of_parts": (
        """\
def k(x: ak.In[ak.bf16,T,H], o: ak.Out[ak.f32,H]):
    part=ak.scratch((7,H),ak.f32)
    for p,h in ak.grid(ak.parts(T,7),H):
        part[p.ordinal,h]=ak.sum(x[p,h].to(ak.f32),axis=0)
    for h in ak.grid(H):
        o[h]=ak.sum(part[:,h],axis=0)
""",
        [({"H": 3}, {"T": 0}), ({"H": 1}, {"T": 5}), ({"H": 130}, {"T": 300}), ({"H": 8}, {"T": 5003})],
    ),
    "whole_rows_of_parts": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,3,H]):
    for p in ak.grid(ak.parts(T,3)):
        o[p.ordinal,:]=ak.sum(x[p,:],axis=0)
""",
        [({"H": 5}, {"T": 2}), ({"H": 576}, {"T": 301})],
    ),
    "parts_along_rows": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,5], c: ak.Out[ak.f32,T,N], b: ak.Out[ak.i64,5,2]):
    for t,p in ak.grid(T,ak.parts(N,5)):
        o[t,p.ordinal]=ak.sum(x[t,p]*p.index.to(ak.f32),axis=1)
        c[t,p]=x[t,p]*2.0
    for p in ak.grid(ak.parts(N,5)):
        b[p.ordinal,0]=p.start
        b[p.ordinal,1]=p.end
""",
        [({}, {"T": 0, "N": 7}), ({}, {"T": 3, "N": 0}), ({}, {"T": 3, "N": 4}), ({}, {"T": 2, "N": 20011})],
    ),
    "as_many_parts_as_a_size_says": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,M,N]):
    for p,n in ak.grid(ak.parts(T,M),N):
        o[p.ordinal,n]=ak.max(x[p,n],axis=0)
""",
        [({}, {"T": 10, "N": 3, "M": 4}), ({}, {"T": 3, "N": 40, "M": 5}), ({}, {"T": 0, "N": 3, "M": 0})],
    ),
    "blocks_by_parts": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,ak.cdiv(T,32),H], e: ak.Out[ak.i64,ak.cdiv(T,32)]):
    for p,h in ak.grid(ak.parts(T,block=32),H):
        o[p.ordinal,h]=ak.sum(x[p,h],axis=0)
    for p in ak.grid(ak.parts(T,block=32)):
        e[p.ordinal]=p.end-p.start
""",
        [({"H": 3}, {"T": 0}), ({"H": 70}, {"T": 97})],
    ),
    "each_from_a_bound": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(ak.each(0,T//2)):
        o[t,:]=x[t,:]
    for t in ak.grid(ak.each(T//2,T)):
        o[t,:]=x[t,:]*t.to(ak.f32)+(t.index-t.ordinal).to(ak.f32)
""",
        [({"H": 3}, {"T": 0}), ({"H": 3}, {"T": 1}), ({"H": 130}, {"T": 7})],
    ),
    "halves_of_long_rows": (
        """\
def k(x: ak.In[ak.bf16,T,2*N+1], o: ak.Out[ak.f32,T,N], s: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        v=x[t,N+1:].to(ak.f32)*x[t,:N].to(ak.f32)
        o[t,:]=v
        s[t]=ak.sum(v,axis=1)+ak.max(x[t,1:].to(ak.f32),axis=1)
""",
        [({}, {"T": 3, "N": 0}), ({}, {"T": 3, "N": 1}), ({}, {"T": 2, "N": 9001})],
    ),
}
CASES = [
    pytest.param(body, statics, sizes, id="-".join([name, *(f"{k}{v}" for k, v in (statics | sizes).items())]))
    for name, (body, grid) in KERNELS.items()
    for statics, sizes in grid
]


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_grid_form_has_the_interpreters_bits(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path) -> None:
    assert disagreements(body, statics, sizes, ("random", "special"), 3, simulator_cache) == []


def _codes(body: str, **statics: int) -> list[str]:
    return [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims=statics)).diagnostics]


def _loop(axis: str, body: str) -> str:
    return (
        f"def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,T]):\n    for t in ak.grid({axis}):\n        {body}\n"
        "    for t in ak.grid(T):\n        o[t]=0.0\n"
    )


WRONG = [
    ("ak.each(0,T,2)", "AK122", "ak.each(0,T)"),
    ("ak.each(T,lo=1)", "AK122", "ak.each(1,T)"),
    ("ak.parts(T)", "AK122", "ak.parts(T,1)"),
    ("ak.parts(T,0)", "AK121", "ak.parts(T,1)"),
    ("ak.parts(T,block=None)", "AK122", "ak.parts(T,block=1)"),
    ("ak.parts(T,2,block=8)", "AK122", "ak.parts(T,block=8)"),
    ("ak.each(T),block=8", "AK121", "ak.each(T),block=None"),
    ("ak.parts(T,2),block=8", "AK121", "T,block=8"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), WRONG)
def test_a_form_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    assert _codes(_loop(wrong, "y=t.ordinal")) == [code]
    assert _codes(_loop(right, "y=t.ordinal")) == []


def test_an_index_past_the_bound_is_shown_as_the_kernel_counts():
    body = "def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,T]):\n    for t in ak.grid(ak.each(1,T)):\n        o[t]=x[t+1]\n"
    result = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    messages = {d.code: d.message for d in result.diagnostics}
    assert messages["AK301"].startswith("`x[t + 1]` reaches past the edge of `x`: T = 2: reads index 2")
    assert messages["AK301"].endswith("at t = 1")
    assert messages["AK305"].endswith("no store writes `o[0]`")


def test_pieces_that_overlap_are_refused():
    body = """\
def k(o: ak.Out[ak.f32,T+1]):
    for p in ak.grid(ak.parts(T,4)):
        o[p]=0.0
        o[p.end]=1.0
"""
    assert {"AK303", "AK304"} & set(_codes(body))


def test_blocks_from_a_bound_survive_print_and_parse():
    kernel = compile_kernel(CompileRequest(HEADER + KERNELS["each_from_a_bound"][0], "kernel.py", dims={"H": 3})).kernel
    assert kernel is not None
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
