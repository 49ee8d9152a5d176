"""Long columns that are added up: how their walks are planned, and that no plan changes a bit."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.schedule import GridSchedule
from tests.compiler.agreement import HEADER, disagreements

SEGMENTS = """\
def k(x: ak.In[ak.{dtype},T,N], offsets: ak.In[ak.i32,M+1].offsets(T), o: ak.Out[ak.f32,M,N]):
    for s,n in ak.grid(ak.segments(offsets),N):
        o[s.ordinal,n]=ak.sum(x[s,n].to(ak.f32),axis=0)
"""
MOMENTS = """\
def k(x: ak.In[ak.{dtype},T,N], offsets: ak.In[ak.i32,M+1].offsets(T), o: ak.Out[ak.f32,M,N], p: ak.Out[ak.f32,M,N]):
    for s,n in ak.grid(ak.segments(offsets),N):
        v=x[s,n].to(ak.f32)
        o[s.ordinal,n]=ak.sum(v,axis=0)
        p[s.ordinal,n]=ak.sum(v*v,axis=0)
"""
PARTS = """\
def k(x: ak.In[ak.{dtype},T,N], w: ak.In[ak.f32,T], o: ak.Out[ak.f32,3,N]):
    for p,n in ak.grid(ak.parts(T,3),N):
        o[p.ordinal,n]=ak.sum(x[p,n].to(ak.f32)*w[p][:,None],axis=0)
"""
WHOLE = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.f32,N], top: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        v=x[:,n].to(ak.f32)
        o[n]=ak.prod(1.0+v*0.001,axis=0)
        top[n]=ak.max(v,axis=0)
"""
LAST = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        o[t]=ak.sum(x[t,:].to(ak.f32),axis=1)
"""


def _plan(body: str, dtype: str, **statics: int) -> GridSchedule:
    found = compile_kernel(CompileRequest(HEADER + body.format(dtype=dtype), "kernel.py", dims=statics))
    assert found.schedule is not None
    return found.schedule.grids[0]


@pytest.mark.parametrize(("dtype", "neighbours"), [("bf16", 2), ("f32", 1)])
def test_rows_of_a_segment_belong_to_one_thread(dtype: str, neighbours: int):
    plan = _plan(SEGMENTS, dtype)
    assert (plan.vector, plan.warps, plan.fast_warps, plan.chunk) == (neighbours, 2, 2, 32)


@pytest.mark.parametrize(("body", "chunk"), [(PARTS, 64), (WHOLE, 128)])
def test_warps_share_the_rows_of_other_columns(body: str, chunk: int):
    plan = _plan(body, "bf16")
    assert (plan.vector, plan.warps, plan.fast_warps, plan.chunk) == (4, 8, 1, chunk)


def test_a_walk_along_rows_is_planned_as_before():
    plan = _plan(LAST, "bf16")
    assert plan.vector == 8 and plan.chunk > 256


def test_few_columns_leave_lanes_to_the_rows():
    assert _plan(SEGMENTS.replace("N]", "H]").replace("(offsets),N", "(offsets),H"), "bf16", H=8).chunk == 128


SIZES = (
    {"T": 0, "M": 2, "N": 5},
    {"T": 31, "M": 1, "N": 67},
    {"T": 256, "M": 1, "N": 8},
    {"T": 1063, "M": 2, "N": 130},
    {"T": 2313, "M": 1, "N": 16},
)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("body", [SEGMENTS, MOMENTS, PARTS, WHOLE], ids=["segments", "moments", "parts", "whole"])
@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: "x".join(map(str, sizes.values())))
def test_no_plan_changes_a_bit(body: str, dtype: str, sizes: dict[str, int], simulator_cache: Path):
    assert disagreements(body.format(dtype=dtype), {}, sizes, ("random", "special"), 2, simulator_cache) == []
