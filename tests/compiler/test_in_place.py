"""InOut tensors: a block reads and writes its own elements, in the program's order, whatever thread does which."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]
ROWS: list[tuple[Sizes, Sizes]] = [
    ({"H": 1}, {"T": 3}),
    ({"H": 5}, {"T": 0}),
    ({"H": 200}, {"T": 37}),
    ({"H": 9001}, {"T": 2}),
]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "elements": (
        """\
def k(x: ak.InOut[ak.f32,N], y: ak.InOut[ak.bf16,N]):
    for n in ak.grid(N):
        old=x[n]
        x[n]=old*2.0+y[n].to(ak.f32)
        y[n]=old.to(ak.bf16)
""",
        [({}, {"N": 0}), ({}, {"N": 1}), ({}, {"N": 1031})],
    ),
    "row_kept_and_used_later": (
        """\
def k(x: ak.In[ak.f32,T,H], r: ak.InOut[ak.f32,T,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        v=x[t,:]+r[t,:]
        r[t,:]=v
        o[t,:]=v*ak.sum(v*v,axis=1,keepdims=True)
""",
        ROWS,
    ),
    "read_after_the_store": (
        """\
def k(r: ak.InOut[ak.f32,T,H], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        r[t,:]=r[t,:]*0.5
        o[t]=ak.sum(r[t,:],axis=1)
""",
        ROWS,
    ),
    "another_layout_writes": (
        """\
def k(r: ak.InOut[ak.f32,T,H]):
    for t in ak.grid(T):
        s=ak.sum(r[t,:],axis=1)
        r[t,0]=s
""",
        ROWS,
    ),
    "turned_in_one_block": (
        """\
def k(r: ak.InOut[ak.f32,H,H]):
    for _ in ak.grid():
        r[:,:]=r[:,:].T
""",
        [({"H": 1}, {}), ({"H": 7}, {}), ({"H": 33}, {})],
    ),
    "one_value_a_row": (
        """\
def k(s: ak.InOut[ak.f32,T], x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        before=s[t]
        s[t]=before+1.0
        o[t,:]=x[t,:]*before[:,None]+s[t,None]
""",
        ROWS,
    ),
    "rows_and_columns_long": (
        """\
def k(x: ak.In[ak.f32,T,H], y: ak.In[ak.f32,H,T], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        o[t]=ak.sum(x[t,:],axis=1)+ak.sum(y[:,t],axis=0)
""",
        ROWS,
    ),
    "stores_in_order": (
        """\
def k(o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        o[t,:]=1.0
        o[t,0]=2.0
        o[t,:1]=3.0
""",
        ROWS,
    ),
}
CASES = [
    pytest.param(body, statics, sizes, id="-".join([name, *(f"{k}{v}" for k, v in (statics | sizes).items())]))
    for name, (body, grid) in KERNELS.items()
    for statics, sizes in grid
]


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_in_place_kernel_has_the_interpreters_bits(
    body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    assert disagreements(body, statics, sizes, ("random", "special"), 3, simulator_cache) == []


def _codes(body: str, **statics: int) -> list[str]:
    return [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims=statics)).diagnostics]


def _text(body: str, **statics: int) -> str:
    result = compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims=statics))
    assert result.status == "ok"
    return result.cuda


NEIGHBOUR = """\
def k(x: ak.InOut[ak.f32,T]):
    for t in ak.grid(ak.each(T)):
        x[t]=x[%s]
"""


def test_reading_what_another_block_writes_is_refuted():
    assert _codes(NEIGHBOUR % "T-1-t") == ["AK314"]
    assert _codes(NEIGHBOUR % "t") == []


def test_reading_an_element_that_only_this_block_writes_is_safe():
    body = "def k(x: ak.InOut[ak.f32,T,2]):\n    for t in ak.grid(T):\n        x[t,%d]=x[t,1]\n"
    assert _codes(body % 0) == []
    assert _codes(body % 1) == []


def test_inout_that_is_never_written_is_an_input():
    body = "def k(x: ak.InOut[ak.f32,T], o: ak.Out[ak.f32,T]):\n    for t in ak.grid(T):\n        o[t]=x[t]\n"
    assert _codes(body) == ["AK310"]


def test_what_a_grid_writes_is_not_read_through_the_read_only_path():
    body = "def k(x: ak.%s[ak.f32,N], o: ak.Out[ak.f32,N]):\n    for n in ak.grid(N):\n        o[n]=x[n]+1.0\n%s"
    assert "ak_ldg" not in _text(body % ("InOut", "        x[n]=2.0\n"))
    assert "ak_ldg" in _text(body % ("In", ""))


def test_the_same_thread_needs_no_barrier():
    body = "def k(x: ak.InOut[ak.f32,T,H]):\n    for t in ak.grid(T):\n        x[t,%s]=x[t,%s]+1.0\n"
    assert "__syncthreads" not in _text(body % (":", ":"), H=64)
    assert "__syncthreads" in _text(body % (":", "0,None"), H=64)


def test_a_long_row_needed_before_and_after_its_store_is_kept_in_memory():
    body = """\
def k(x: ak.InOut[ak.f32,T,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        before=x[t,:]
        x[t,:]=before*2.0
        o[t,:]=x[t,:]-before
"""
    assert "kept0" in _text(body, H=20000)
    assert "kept0" not in _text(body, H=200)
