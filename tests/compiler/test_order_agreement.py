"""`topk`, `sort`, `occurrence`, `bincount`: the simulator has the interpreter's bits, the interpreter NumPy's meaning."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.reference_orders import bincount, occurrence, sort, topk
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

TOPK = """\
def k(x: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.{dtype},T,{k}], p: ak.Out[ak.i64,T,{k}]):
    for t in ak.grid(T):
        o[t,:],p[t,:]=ak.topk(x[t,:],{k},axis=1)
"""
COLUMNS = """\
def k(x: ak.In[ak.{dtype},{dim},M], o: ak.Out[ak.{dtype},{k},M], p: ak.Out[ak.{dtype},{dim},M]):
    for m in ak.grid(M):
        values,places=ak.topk(x[:,m],{k},axis=0)
        o[:,m]=ak.where(places>=0,values,values)
        p[:,m]=ak.sort(x[:,m],axis=0)
"""
SORT = """\
def k(x: ak.In[ak.{dtype},T,H], o: ak.Out[ak.{dtype},T,H], p: ak.Out[ak.i32,T,H]):
    for t in ak.grid(T):
        o[t,:]=ak.sort(x[t,:])
        p[t,:]=ak.occurrence(x[t,:],axis=1)
"""
BLOCKS = """\
def k(x: ak.In[ak.{dtype},N,M], o: ak.Out[ak.{dtype},N,M], p: ak.Out[ak.i32,N,M]):
    for n,m in ak.grid(N,M,block=(8,32)):
        o[n,m]=ak.sort(x[n,m],axis=1)
        p[n,m]=ak.occurrence(x[n,m],axis=0)
"""
UNIQUE = """\
def k(x: ak.In[ak.i64,T,H], o: ak.Out[ak.i64,T,H]):
    for t in ak.grid(T):
        g=x[t,:]%7
        o[t,:]=ak.where(ak.occurrence(g,axis=1)>0,-1,g)
"""
COUNTS = """\
def k(x: ak.In[ak.{dtype},T,H], o: ak.Out[ak.i32,G], p: ak.Out[ak.i32,T,5]):
    for _ in ak.grid():
        o[:]=ak.bincount(x[:,:]&15,G)
    for t in ak.grid(ak.each(T)):
        p[t,:]=ak.bincount(x[t,:],5)
"""
STEPS = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.i32,T,G]):
    for t in ak.grid(ak.each(T)):
        n=ak.zeros((G,),ak.i32)
        for c in ak.steps(N):
            n=n+ak.bincount(x[t,c]&63,G)
        o[t,:]=n
"""
CHUNKS = """\
def k(x: ak.In[ak.{dtype},N,M], o: ak.Out[ak.{dtype},N,M], p: ak.Out[ak.i32,N,M]):
    for n,m in ak.grid(N,M,block=(2,100)):
        o[n,m]=ak.sort(x[n,m],axis=1)
        p[n,m]=ak.occurrence(x[n,m],axis=1)
"""
CASES = [
    *((SORT, dict(dtype=d), {"H": h}, {"T": t}) for d, h, t in [
        ("f32", 65, 3), ("u64", 100, 3), ("u8", 300, 9), ("f64", 1100, 1), ("i32", 8192, 1)]),
    *((TOPK, dict(dtype=d, dim="H", k=k), {"H": h}, {"T": t}) for d, h, k, t in [
        ("f32", 200, 70, 3), ("i64", 129, 65, 2), ("bf16", 4099, 300, 1), ("u16", 66, 66, 1)]),
    (COLUMNS, dict(dtype="bf16", dim="H", k=66), {"H": 70}, {"M": 5}),
    *((CHUNKS, dict(dtype=d), {}, {"N": 5, "M": 130}) for d in ("i32", "f16")),
    *((STEPS, dict(dtype=d), {"G": g}, {"T": t, "N": n}) for d, g, t, n in [
        ("i64", 256, 2, 700), ("u8", 5, 3, 1), ("u64", 64, 2, 0)]),
    *((TOPK, dict(dtype=d, dim="H", k=k), {"H": h}, {"T": t}) for d, h, k, t in [
        ("f32", 1, 1, 3), ("f32", 72, 3, 3), ("bf16", 36, 2, 40), ("f32", 256, 2, 2), ("i64", 9, 2, 3), ("u8", 300, 3, 2),
        ("i32", 66, 65, 1), ("f32", 9000, 2, 2), ("u32", 16, 2, 17)]),
    *((TOPK, dict(dtype=d, dim="N+3", k=3), {}, {"T": 2, "N": n}) for d, n in [
        ("f32", 0), ("bf16", 100), ("f32", 9000), ("i64", 30)]),
    *((COLUMNS, dict(dtype=d, dim="H", k=2), {"H": h}, {"M": m}) for d, h, m in [("f32", 2, 5), ("bf16", 9, 33)]),
    *((SORT, dict(dtype=d), {"H": h}, {"T": t}) for d, h, t in [
        ("f32", 1, 3), ("bf16", 9, 40), ("i16", 40, 2), ("u64", 33, 3)]),
    *((BLOCKS, dict(dtype=d), {}, {"N": n, "M": m}) for d, n, m in [("f32", 1, 1), ("i32", 9, 40)]),
    *((UNIQUE, {}, {"H": h}, {"T": t}) for h, t in [(1, 1), (8, 40), (9, 3)]),
    *((COUNTS, dict(dtype=d), {"H": h, "G": g}, {"T": t}) for d, h, g, t in [
        ("i64", 8, 12, 0), ("i64", 8, 12, 150), ("u8", 9, 33, 40), ("i64", 8, 256, 5)]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "names", "statics", "sizes"), CASES)
def test_orders_have_the_interpreters_bits(
    body: str, names: dict[str, object], statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    assert (
        disagreements(
            body.format(**names), statics, sizes, ("special", "integers"), 1 + ("topk" in body), simulator_cache
        )
        == []
    )


SORTED_IN_TURN = """\
def k(x: ak.In[ak.f32,T,N,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        v=ak.zeros((t,H),ak.f32)
        for n in ak.steps(ak.each(N)):
            v=ak.sort(x[t,n,:]+v,axis=1)
        o[t,:]=v
"""


@pytest.mark.parametrize(
    ("body", "statics", "sizes"),
    [
        (STEPS.format(dtype="i32"), {"G": 300}, {"T": 2, "N": 70}),
        (SORTED_IN_TURN, {"H": 100}, {"T": 3, "N": 4}),
    ],
)
def test_memory_that_is_cleared_in_a_loop_is_checked_whatever_the_warps(
    body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    assert disagreements(body, statics, sizes, ("integers",), 4, simulator_cache) == []


def test_the_largest_come_first_equals_by_index_nan_above_all():
    x = np.array([[-0.0, 0.0, np.nan, 3.0, np.inf, 3.0, np.nan]], np.float32)
    values, places = topk("f32", x, 6, 1)
    assert places.tolist() == [[2, 6, 4, 3, 5, 0]]
    assert values.view(np.uint32).tolist() == np.take_along_axis(x, places, 1).view(np.uint32).tolist()


def test_sorting_is_stable_and_ends_with_nan():
    x = np.array([np.nan, 1.0, 0.0, -0.0, -np.inf], np.float32)
    found = sort("f32", x, 0)
    assert found[:4].tolist() == [-np.inf, 0.0, -0.0, 1.0] and np.isnan(found[4])
    assert np.signbit(found).tolist()[:3] == [True, False, True]


def test_occurrences_and_counts_are_numpys():
    x = np.array([[3, 3, 1, 3], [-1, 5, -1, 9]], np.int64)
    assert occurrence("i64", x, 1).tolist() == [[0, 1, 0, 2], [0, 0, 1, 0]]
    assert bincount(x, 6).tolist() == [0, 1, 0, 3, 0, 1]


def test_counts_of_a_free_block_go_into_a_sum_alone() -> None:
    body = """\
def k(x: ak.In[ak.i32,T,N], o: ak.Out[ak.i32,T,8]):
    for t in ak.grid(ak.each(T)):
        n=ak.zeros((8,),ak.i32)
        for c in ak.steps(N):
            n=n+ak.minimum(ak.bincount(x[t,c],8),1)
        o[t,:]=n
"""
    assert [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py")).diagnostics] == ["AK422"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ak.topk(x[t,:],9,axis=1)", "AK331"),
        ("ak.topk(y[t,:],2)", "AK331"),
        ("ak.topk(x[t,:],0)", "AK122"),
        ("ak.topk(x[t,:],T)", "AK218"),
        ("ak.topk(x[t,:],2,axis=0)", "AK403"),
        ("ak.sort(x[t,:]>0)", "AK206"),
        ("ak.bincount(x[t,:],4)", "AK206"),
        ("ak.bincount(i[t],4)", "AK403"),
        ("ak.topk(y[t,:],100)", "AK331"),
    ],
)
def test_what_has_no_order_is_refused(line: str, code: str) -> None:
    body = f"""\
def k(x: ak.In[ak.f32,T,8], y: ak.In[ak.f32,T,N], i: ak.In[ak.i32,T], o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,T,N]):
    for t in ak.grid(T):
        v={line}
        o[t]=x[t,0]
        p[t,:]=y[t,:]
"""
    assert [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py")).diagnostics] == [code]
