"""Axes too long to keep on the chip are sorted, ranked and selected from in memory: interpreter and simulator agree."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.tools.inputs import Kind
from tests.compiler.agreement import HEADER, arrays, disagreements, scalars
from tests.compiler.test_whole_axes import PARTS, SEGMENTS

Sizes = dict[str, int]

SORT = """\
def k(x: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.{dtype},T,{dim}]):
    for t in ak.grid(T):
        o[t,:]=ak.sort(x[t,:])
"""
COUNT = """\
def k(x: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.i32,T,{dim}]):
    for t in ak.grid(T):
        o[t,:]=ak.occurrence(x[t,:],axis=1)
"""
TOPK = """\
def k(x: ak.In[ak.{dtype},T,{dim}+{k}], o: ak.Out[ak.{dtype},T,{k}], p: ak.Out[ak.i64,T,{k}]):
    for t in ak.grid(T):
        o[t,:],p[t,:]=ak.topk(x[t,:],{k},axis=1)
"""
COLUMNS = """\
def k(x: ak.In[ak.{dtype},{dim},M], o: ak.Out[ak.{dtype},{dim},M], p: ak.Out[ak.i32,{dim},M]):
    for m in ak.grid(M):
        o[:,m]=ak.sort(x[:,m],axis=0)
        p[:,m]=ak.occurrence(x[:,m],axis=0)
"""
MIDDLE = """\
def k(x: ak.In[ak.{dtype},T,{dim},M], o: ak.Out[ak.{dtype},T,{dim},M], p: ak.Out[ak.i32,T,{dim},M]):
    for t in ak.grid(T):
        o[t,:,:]=ak.sort(x[t,:,:],axis=1)
        p[t,:,:]=ak.occurrence(x[t,:,:],axis=1)
"""
BESIDE = """\
def k(x: ak.In[ak.{dtype},T,{dim},5], o: ak.Out[ak.{dtype},T,{dim},5], p: ak.Out[ak.{dtype},T,5,{dim}]):
    for t in ak.grid(T):
        v=ak.sort(x[t,:,:],axis=1)
        o[t,:,:]=v
        p[t,:,:]=ak.sort(v.transpose(0,2,1)*2,axis=2)
"""
BLOCKS = """\
def k(x: ak.In[ak.{dtype},M,N], o: ak.Out[ak.{dtype},M,N], p: ak.Out[ak.i32,M,N]):
    for m,n in ak.grid(M,N,block=(3,{block})):
        o[m,n]=ak.sort(x[m,n],axis=1)
        p[m,n]=ak.occurrence(x[m,n],axis=1)
"""
AFTER = """\
def k(x: ak.In[ak.{dtype},T,{dim}], w: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.{dtype},T,{dim}], p: ak.Out[ak.f32,T],
      q: ak.Out[ak.i64,T,{dim}]):
    for t in ak.grid(T):
        s=ak.sum(x[t,:].to(ak.f32),axis=1)
        v=ak.sort(x[t,:]*w[t,:]+s[:,None].to(ak.{dtype}),axis=1)
        o[t,:]=ak.sort(v-w[t,:],axis=1)
        p[t]=ak.sum(v.to(ak.f32),axis=1)-s
        q[t,:]=ak.cumsum(ak.isnan(v).to(ak.i64),axis=1)
"""
STEPS = """\
def k(x: ak.In[ak.{dtype},T,M,{dim}], o: ak.Out[ak.{dtype},T,{dim}], p: ak.Out[ak.i64,T]):
    for t in ak.grid(T):
        v=ak.zeros((t,{dim}),ak.{dtype})
        n=ak.zeros((t,),ak.i64)
        for m in ak.steps(ak.each(M)):
            u=ak.sort(ak.maximum(x[t,m,:],v),axis=1)
            v=ak.where(ak.occurrence(u,axis=1)>0,v,u)
            n=n+ak.sum(ak.topk(u,70)[1],axis=1)
        o[t,:]=v
        p[t]=n
"""
BRANCH = """\
def k(x: ak.InOut[ak.{dtype},T,{dim}], g: ak.In[ak.i32,T], o: ak.Out[ak.i64,T,{dim}]):
    for t in ak.grid(ak.each(T)):
        v=x[t,:]
        if g[t]>0:
            v=ak.sort(v)
        else:
            v=-v
        x[t,:]=v
        o[t,:]=ak.occurrence(v).to(ak.i64)
"""
RESHAPED = """\
def k(x: ak.In[ak.{dtype},T,{dim},4], o: ak.Out[ak.{dtype},T,{dim},2]):
    for t in ak.grid(T):
        o[t,:,:]=ak.sort(x[t,:,:].reshape(t,{dim}*4),axis=1).reshape(t,{dim},4)[:,:,1:3]
"""
LEFT = """\
def k(x: ak.In[ak.{dtype},T,M,{dim}], o: ak.Out[ak.{dtype},T,4]):
    for t in ak.grid(T):
        n=ak.zeros((t,4),ak.{dtype})
        for m in ak.steps(ak.each(M)):
            n=n+ak.sort(x[t,m,:],axis=1)[:,2:6]
        o[t,:]=n
"""
SPECIAL: tuple[Kind, ...] = ("special", "integers")


RUN: list[tuple[str, dict[str, object], Sizes, int]] = [
    *((SORT, dict(dtype=d), {"T": t}, n) for d, t, n in [
        ("f32", 3, 0), ("f32", 3, 1), ("f32", 2, 65), ("f32", 1, 8192), ("i64", 1, 8193), ("f64", 1, 20000),
        ("bf16", 1, 65537), ("i64", 0, 7), ("u8", 2, 9000)]),
    *((COUNT, dict(dtype=d), {"T": t}, n) for d, t, n in [
        ("f32", 3, 0), ("f32", 3, 1), ("bool", 2, 65), ("f32", 1, 9001), ("u64", 2, 4097)]),
    *((TOPK, dict(dtype=d, k=k), {"T": t}, n) for d, k, t, n in [
        ("f32", 65, 3, 0), ("i64", 1000, 1, 20001), ("bf16", 9000, 1, 1)]),
    *((COLUMNS, dict(dtype="f32"), {"M": m}, n) for m, n in [(3, 0), (5, 1), (3, 300), (1, 8195)]),
    *((MIDDLE, dict(dtype="f16"), {"M": m, "T": 2}, n) for m, n in [(3, 0), (5, 1), (7, 90)]),
    *((BESIDE, dict(dtype="f32"), {"T": t}, n) for t, n in [(2, 0), (3, 1), (1, 3001)]),
    *((BLOCKS, dict(dtype=d, block=b), {"M": m}, n) for d, b, m, n in [
        ("i8", 9000, 4, 0), ("i8", 9000, 2, 20001), ("f64", 20000, 1, 8193)]),
    *((AFTER, dict(dtype="f32"), {"T": t}, n) for t, n in [(2, 0), (3, 1), (1, 9001)]),
    *((BRANCH, dict(dtype="f32"), {"T": t}, n) for t, n in [(3, 0), (4, 1), (3, 5001)]),
    *((RESHAPED, dict(dtype="i32"), {"T": t}, n) for t, n in [(3, 0), (4, 1), (2, 2501)]),
    *((SEGMENTS, dict(dtype="f32"), {"T": t, "M": 3}, n) for t, n in [(4, 150), (3, 0), (20, 33), (2, 9000)]),
    *((PARTS, dict(dtype="i32"), {"T": 3}, n) for n in [0, 2, 30000]),
]  # fmt: skip
STATIC: list[tuple[str, dict[str, object], Sizes, int]] = [
    (SORT, dict(dtype="f32"), {"T": 2}, 8193),
    (SORT, dict(dtype="u16"), {"T": 1}, 65537),
    (COUNT, dict(dtype="i64"), {"T": 1}, 9001),
    (TOPK, dict(dtype="f64", k=1000), {"T": 2}, 9000),
    (COLUMNS, dict(dtype="f32"), {"M": 3}, 8200),
    (MIDDLE, dict(dtype="u8"), {"M": 2, "T": 2}, 700),
    (BESIDE, dict(dtype="u8"), {"T": 2}, 700),
    (AFTER, dict(dtype="f32"), {"T": 2}, 8200),
    (BRANCH, dict(dtype="i64"), {"T": 3}, 9001),
    (RESHAPED, dict(dtype="f32"), {"T": 2}, 2050),
    (STEPS, dict(dtype="f32"), {"T": 1, "M": 3}, 8200),
    (STEPS, dict(dtype="i64"), {"T": 2, "M": 0}, 9001),
    (LEFT, dict(dtype="i32"), {"T": 2, "M": 3}, 8200),
]

CASES: list[tuple[str, dict[str, object], Sizes, Sizes]] = [
    *((body, {**names, "dim": "N"}, {}, {**sizes, "N": extent}) for body, names, sizes, extent in RUN),
    *((body, {**names, "dim": "H"}, {"H": extent}, sizes) for body, names, sizes, extent in STATIC),
]


@pytest.mark.parametrize(("body", "names", "statics", "sizes"), CASES)
def test_axes_too_long_to_keep_are_ordered_in_memory(
    body: str, names: dict[str, object], statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    schedules = 1 if max(sizes.get("N", 0), *statics.values(), 0) > 100 else 2  # long rows take the simulator long
    assert disagreements(body.format(**names), statics, sizes, SPECIAL, schedules, simulator_cache) == []


@pytest.mark.parametrize(
    "body", [SORT, MIDDLE, COUNT, SEGMENTS, AFTER], ids=["sort", "middle", "count", "segments", "after"]
)
@pytest.mark.parametrize("extent", [0, 1, 90])
def test_memory_that_is_sorted_means_the_same_and_is_read_back(body: str, extent: int) -> None:
    source = HEADER + body.format(dtype="f32", dim="N")
    result = compile_kernel(CompileRequest(source, "kernel.py"))
    assert result.kernel is not None and result.legal is not None
    text = print_kernel(result.legal)
    again = parse_kernel(text)
    assert ("sort_kept" in text, print_kernel(again)) == (True, text)
    sizes = {"T": 2, "M": 3, "N": extent}
    want, got = arrays(result.kernel, sizes, "special"), arrays(result.kernel, sizes, "special")
    interpret(result.kernel, want, sizes, scalars(result))
    interpret(again, got, sizes, scalars(result))
    assert {n: v.tobytes() for n, v in got.items()} == {n: v.tobytes() for n, v in want.items()}


@pytest.mark.parametrize(
    ("dtype", "promise", "arrays"),
    [("f32", "", 2), ("f32", ", max=1 << 32", 1), ("bf16", "", 1), ("u8", "", 1), ("i64", ", max=9000", 2)],
)
def test_positions_stand_beside_keys_where_every_one_fits(dtype: str, promise: str, arrays: int) -> None:
    source = HEADER.replace('ak.dim("N")', f'ak.dim("N"{promise})') + SORT.format(dtype=dtype, dim="N")
    result = compile_kernel(CompileRequest(source, "kernel.py"))
    assert result.legal is not None
    assert f"arrays = {arrays}" in print_kernel(result.legal)
