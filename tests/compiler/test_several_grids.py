"""Several grids in a kernel with scratch between them: each sees what earlier ones wrote, one launch a grid."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, CompileResult, compile_kernel
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "column_sums_by_parts": (
        """\
def k(x: ak.In[ak.bf16,T,H], o: ak.Out[ak.f32,H]):
    part=ak.scratch((ak.cdiv(T,64),H),ak.f32)
    for t,h in ak.grid(T,H,block=(64,None)):
        part[t.ordinal,h]=ak.sum(x[t,h].to(ak.f32),axis=0)
    for h in ak.grid(H):
        o[h]=ak.sum(part[:,h],axis=0)
""",
        [({"H": 5}, {"T": 0}), ({"H": 1}, {"T": 1}), ({"H": 130}, {"T": 200}), ({"H": 64}, {"T": 64})],
    ),
    "one_number_a_row": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,H]):
    s=ak.scratch((T,),ak.f32)
    for t in ak.grid(T):
        s[t]=ak.sum(x[t,:]*x[t,:],axis=1)
    for t in ak.grid(T):
        o[t,:]=x[t,:]*ak.rsqrt(s[t]+1e-6)[:,None]
""",
        [({"H": 5}, {"T": 0}), ({"H": 1}, {"T": 7}), ({"H": 200}, {"T": 33}), ({"H": 9001}, {"T": 2})],
    ),
    "rows_and_columns_of_one_scratch": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,H,T], p: ak.Out[ak.f32,T]):
    s=ak.scratch((T,H),ak.f32)
    for t in ak.grid(T):
        s[t,:]=x[t,:]*2.0
    for h,t in ak.grid(H,T):
        o[h,t]=s[t,h].T
    for t in ak.grid(T):
        s[t,:]=s_again(x[t,:])
        p[t]=ak.sum(x[t,:],axis=1)
""".replace("s_again(x[t,:])", "x[t,:]+1.0"),
        [({"H": 3}, {"T": 5}), ({"H": 100}, {"T": 37})],
    ),
    "output_read_in_a_later_grid": (
        """\
def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,T], s: ak.Out[ak.f32,1]):
    for t in ak.grid(T):
        o[t]=x[t]*2.0
    for _ in ak.grid():
        s[0]=ak.sum(o[:],axis=0)
""",
        [({}, {"T": 0}), ({}, {"T": 1}), ({}, {"T": 20000})],
    ),
}
CASES = [
    pytest.param(body, statics, sizes, id="-".join([name, *(f"{k}{v}" for k, v in (statics | sizes).items())]))
    for name, (body, grid) in KERNELS.items()
    for statics, sizes in grid
]


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_kernel_of_several_grids_has_the_interpreters_bits(
    body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    assert disagreements(body, statics, sizes, ("random", "special"), 3, simulator_cache) == []


def _compiled(body: str, **statics: int) -> CompileResult:
    return compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims=statics))


def _codes(body: str) -> list[str]:
    return [d.code for d in _compiled(body).diagnostics]


HALF = """\
def k(x: ak.In[ak.f32,T,8], o: ak.Out[ak.f32,T,8]):
    half=ak.scratch((T,8),ak.f32)
    for t in ak.grid(T):
        half[t,%s]=x[t,%s]
    for t in ak.grid(T):
        o[t,%s]=half[t,%s]
        o[t,0]=x[t,0]
"""


def test_scratch_that_was_not_written_is_not_read():
    assert _codes(HALF % ("1:", "1:", ":", ":")) == ["AK316"]
    assert _codes(HALF % (":", ":", ":", ":")) == []


def test_only_what_is_read_of_scratch_has_to_be_written():
    assert _codes(HALF % ("1:", "1:", "1:", "1:")) == []


def test_a_grid_does_not_read_the_scratch_that_it_writes():
    body = """\
def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,T]):
    s=ak.scratch((T,),ak.f32)
    for t in ak.grid(T):
        s[t]=x[t]
        o[t]=s[t]
"""
    assert _codes(body) == ["AK312"]


def test_scratch_stands_outside_the_grids():
    body = (
        "def k(o: ak.Out[ak.f32,T]):\n    for t in ak.grid(T):\n        s=ak.scratch((T,),ak.f32)\n        o[t]=1.0\n"
    )
    assert _codes(body) == ["AK105"]


def test_two_scratches_of_one_name_are_two():
    body = """\
def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,T]):
    s=ak.scratch((T,),ak.f32)
    for t in ak.grid(T):
        s[t]=x[t]
    r=s
    s=ak.scratch((T,),ak.f32)
    for t in ak.grid(T):
        s[t]=r[t]+1.0
    for t in ak.grid(T):
        o[t]=s[t]
"""
    result = _compiled(body)
    assert result.abi is not None
    assert [param.name for param in result.abi.params] == ["x", "o", "s", "s_2"]
    assert [launch.function for launch in result.abi.launches] == ["k_0", "k_1", "k_2"]


def test_scratch_survives_print_and_parse():
    kernel = _compiled(KERNELS["one_number_a_row"][0], H=8).kernel
    assert kernel is not None
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)


def test_a_later_grid_reads_scratch_by_the_read_only_path():
    result = _compiled(KERNELS["one_number_a_row"][0], H=8)
    assert "const float* s_block" in result.cuda
