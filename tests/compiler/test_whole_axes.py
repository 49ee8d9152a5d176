"""Axes whose length the run gives are sorted, ranked and selected from whole: interpreter and simulator agree."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from tests.compiler.agreement import arrays, request_disagreements, scalars

Sizes = dict[str, int]

HEADER = """import agentkern as ak

T, M = ak.dim("T"), ak.dim("M")
N = ak.dim("N", min={least}, max={most})


@ak.kernel
"""
SORT = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.{dtype},T,N], p: ak.Out[ak.i32,T,N]):
    for t in ak.grid(T):
        o[t,:]=ak.sort(x[t,:])
        p[t,:]=ak.occurrence(x[t,:],axis=1)
"""
TOPK = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.{dtype},T,{k}], p: ak.Out[ak.i64,T,{k}], q: ak.Out[ak.i64,T,3]):
    for t in ak.grid(T):
        o[t,:],p[t,:]=ak.topk(x[t,:],{k},axis=1)
        v,q[t,:]=ak.topk(x[t,:],3,axis=1)
"""
COLUMNS = """\
def k(x: ak.In[ak.{dtype},N+3,M], o: ak.Out[ak.{dtype},N+3,M], p: ak.Out[ak.i32,N+3,M]):
    for m in ak.grid(M):
        o[:,m]=ak.sort(x[:,m],axis=0)
        p[:,m]=ak.occurrence(x[:,m],axis=0)
"""
SUMS = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.f32,T], p: ak.Out[ak.{dtype},T,N], q: ak.Out[ak.i64,T]):
    for t in ak.grid(T):
        s=ak.sort(x[t,:]*2,axis=1)
        v=ak.where(ak.arange(N)[None,:]<5,s,s+1).to(ak.f32)
        o[t]=ak.mean(v,axis=1)+ak.sum(x[t,:].to(ak.f32)*v,axis=1)
        p[t,:]=s
        q[t]=ak.sum(ak.cumsum(ak.occurrence(x[t,:],axis=1).to(ak.i64),axis=1),axis=1)
"""
ONE = """\
def k(x: ak.In[ak.{dtype},N], y: ak.In[ak.f32,T,N], o: ak.Out[ak.{dtype},N], p: ak.Out[ak.f32,T]):
    for _ in ak.grid():
        o[:]=ak.sort(x[:])
    for t in ak.grid(T):
        p[t]=ak.sum(y[t,:],axis=1)
"""
STEPS = """\
def k(x: ak.In[ak.{dtype},T,M,N], o: ak.Out[ak.{dtype},T,N]):
    for t in ak.grid(T):
        v=ak.zeros((t,N),ak.{dtype})
        for m in ak.steps(ak.each(M)):
            v=ak.sort(ak.maximum(x[t,m,:],v),axis=1)
        o[t,:]=v
"""
SEGMENTS = """\
def k(x: ak.In[ak.{dtype},N], y: ak.In[ak.f32,N,M], offsets: ak.In[ak.i32,T+1].offsets(N), o: ak.Out[ak.{dtype},N],
      p: ak.Out[ak.i32,N], q: ak.Out[ak.f32,N,M], r: ak.Out[ak.i64,T]):
    for s in ak.grid(ak.segments(offsets)):
        o[s]=ak.sort(x[s])
        ranks=ak.occurrence(x[s])
        p[s]=ranks+s.index.to(ak.i32)
        r[s.ordinal]=ak.sum(ranks.to(ak.i64),axis=0)+s.start
    for s,m in ak.grid(ak.segments(offsets),M):
        q[s,m]=ak.sort(y[s,m],axis=0)
"""
PARTS = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.{dtype},T,N]):
    for t,c in ak.grid(T,ak.parts(N,3)):
        o[t,c]=ak.sort(x[t,c],axis=1)
"""
SPECIAL = ("special", "integers")


def disagreements(
    body: str, names: dict[str, object], most: int, sizes: Sizes, count: int, cache: Path, least: int = 0
) -> list[str]:
    source = HEADER.format(most=most, least=least) + body.format(**names)
    return request_disagreements(CompileRequest(source, "kernel.py"), sizes, SPECIAL, count, cache)


CASES: list[tuple[str, dict[str, object], int, Sizes]] = [
    *((SORT, dict(dtype=d), m, {"T": t, "N": n}) for d, m, t, n in [
        ("f32", 200, 3, 0), ("f32", 200, 3, 1), ("f32", 200, 3, 200), ("bf16", 200, 5, 199), ("u64", 200, 2, 97),
        ("i32", 1, 3, 1), ("i32", 1, 3, 0), ("f16", 40, 33, 39), ("i64", 0, 2, 0), ("u8", 2048, 0, 7)]),
    *((COLUMNS, dict(dtype=d), m, {"M": k, "N": n}) for d, m, k, n in [
        ("f32", 60, 5, 0), ("f32", 60, 5, 57), ("i16", 300, 2, 251)]),
    *((SUMS, dict(dtype=d), m, {"T": 3, "N": n}) for d, m, n in [
        ("f32", 100, 100), ("f32", 100, 0), ("i32", 100, 1), ("f32", 1000, 517)]),
    *((ONE, dict(dtype="f32"), 50, {"T": 2, "N": n}) for n in (0, 1, 50)),
    *((STEPS, dict(dtype="i32"), 90, {"T": 2, "M": m, "N": n}) for m, n in [(3, 90), (2, 0), (0, 5)]),
    *((TOPK, dict(dtype=d, k=k), 300, {"T": t, "N": n}) for d, k, t, n in [
        ("f32", 65, 3, 65), ("bf16", 66, 2, 299), ("i64", 70, 2, 300), ("u8", 67, 0, 80)]),
    *((SEGMENTS, dict(dtype="f32"), 150, {"T": t, "N": n, "M": 3}) for t, n in [(4, 150), (3, 0), (20, 33)]),
    *((PARTS, dict(dtype="i32"), 150, {"T": 3, "N": n}) for n in [0, 2, 149]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "names", "most", "sizes"), CASES)
def test_orders_of_axes_that_only_the_run_knows_have_the_interpreters_bits(
    body: str, names: dict[str, object], most: int, sizes: Sizes, simulator_cache: Path
) -> None:
    least = int(str(names.get("k", 0)))
    assert disagreements(body, names, most, sizes, 3, simulator_cache, least) == []


@pytest.mark.parametrize("extent", [8191, 8192])
def test_the_longest_axis_that_a_block_keeps_is_sorted(extent: int, simulator_cache: Path) -> None:
    assert disagreements(SORT, dict(dtype="f32"), 8192, {"T": 1, "N": extent}, 1, simulator_cache) == []


@pytest.mark.parametrize("dtype", ["i16", "f64"])
def test_long_columns_of_any_width_are_sorted_a_few_at_a_time(dtype: str, simulator_cache: Path) -> None:
    assert disagreements(COLUMNS, dict(dtype=dtype), 1000, {"M": 9, "N": 700}, 2, simulator_cache) == []


@pytest.mark.parametrize("extent", [0, 1, 90])
def test_a_whole_block_means_the_same_and_is_read_back(extent: int) -> None:
    source = HEADER.format(most=90, least=0) + SUMS.format(dtype="f32")
    result = compile_kernel(CompileRequest(source, "kernel.py"))
    assert result.kernel is not None and result.legal is not None
    assert "whole" in print_kernel(result.legal)
    again = parse_kernel(print_kernel(result.legal))
    assert print_kernel(again) == print_kernel(result.legal)
    sizes = {"T": 2, "N": extent}
    want, got = arrays(result.kernel, sizes, "special"), arrays(result.kernel, sizes, "special")
    interpret(result.kernel, want, sizes, scalars(result))
    interpret(again, got, sizes, scalars(result))
    assert {n: v.tobytes() for n, v in got.items()} == {n: v.tobytes() for n, v in want.items()}


FREE = """import agentkern as ak

T, M, N = ak.dim("T"), ak.dim("M"), ak.dim("N"{promise})


@ak.kernel
"""


@pytest.mark.parametrize(("promise", "kept"), [(", max=8192", False), (", max=8193", True), ("", True)])
def test_what_a_promise_does_not_bound_is_ordered_in_memory(promise: str, kept: bool) -> None:
    result = compile_kernel(CompileRequest(FREE.format(promise=promise) + SORT.format(dtype="f32"), "kernel.py"))
    assert result.kernel is not None and result.legal is not None
    text = print_kernel(result.legal)
    assert ("sort_kept" in text, "whole" in text) == (kept, not kept)


MIXED = """\
def k(x: ak.In[ak.f32,T,N], y: ak.In[ak.f32,T,2*N], z: ak.In[ak.f32,M,N], o: ak.Out[ak.f32,T,N]):
    for t in ak.grid(T):
        o[t,:]={value}
"""


@pytest.mark.parametrize(
    "value",
    [
        "ak.sort(ak.concat((x[t,:],x[t,:]),axis=1))[:,:N]",
        "ak.sort(y[t,:]).reshape(t,N,2)[:,:,0]",
        "ak.sort(x[t,:])+ak.sum(ak.sort(x[t,:].reshape(t,1,N),axis=2).reshape(t,N,1),axis=(1,2))[:,None]",
        "ak.concat((ak.sort(x[t,:]),x[t,:]),axis=1)[:,:N]",
        "x[t,:]+ak.max(ak.sort(y[t,:])[:,1:],axis=1)[:,None]",
    ],
)
def test_what_would_see_the_bound_of_an_axis_is_ordered_in_memory(value: str, simulator_cache: Path) -> None:
    sizes = {"T": 2, "N": 37, "M": 4}
    assert disagreements(MIXED, dict(value=value), 100, sizes, 1, simulator_cache, 1) == []


@pytest.mark.parametrize(
    "value",
    [
        "ak.sort(x[t,:])+ak.argmax(x[t,:].reshape(t,1,N),axis=(1,2))[:,None].to(ak.f32)",
        "x[t,:]+ak.max(ak.sort(z[:,:],axis=1),axis=(0,1))",
        "ak.sort(x[t,:])+ak.max(y[t,:],axis=1)[:,None]+ak.max(ak.sort(y[t,:],axis=1),axis=1)[:,None]",
        "ak.take_along_axis(x[t,:],ak.occurrence(ak.trunc(x[t,:]*0),axis=1).to(ak.i64)%1,axis=1)",
        "ak.sort(x[t,:].T,axis=0).T",
    ],
)
def test_what_stands_beside_a_whole_axis_has_the_interpreters_bits(value: str, simulator_cache: Path) -> None:
    sizes = {"T": 3, "N": 37, "M": 4}
    assert disagreements(MIXED, dict(value=value), 100, sizes, 2, simulator_cache, 1) == []
