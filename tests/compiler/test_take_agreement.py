"""`ak.take_along_axis` and positions that only the run knows: NumPy's meaning, the simulator's bits, proved places."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.cases.runs import Case, run
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

ROWS = """\
def k(x: ak.In[ak.{d},T,{n}], i: ak.In[ak.{i},T,{m}].values(0,{n}), o: ak.Out[ak.{d},T,{m}]):
    for t in ak.grid(T):
        o[t,:]=ak.take_along_axis(x[t,:]{f},i[t,:],axis=1)
"""
COLUMNS = """\
def k(x: ak.In[ak.{d},{n},M], i: ak.In[ak.i64,{m},M].values(0,{n}), o: ak.Out[ak.{d},{m},M], p: ak.Out[ak.{d},M]):
    for m in ak.grid(M):
        v=x[:,m]
        o[:,m]=ak.take_along_axis(v,i[:,m],axis=0)
        p[m]=ak.take_along_axis(v,ak.argmax(v,axis=0,keepdims=True),axis=0)[0,:]
"""
LONG = """\
def k(x: ak.In[ak.{d},T,N+1], w: ak.In[ak.{d},N+1], b: ak.In[ak.{d},T], i: ak.In[ak.i32,T,3].values(0,N), o: ak.Out[ak.{d},T,3]):
    for t in ak.grid(T):
        v=ak.where(ak.arange(N)[None,:]%2==0,x[t,1:]*w[None,:N],b[t,None])
        o[t,:]=ak.take_along_axis(v,i[t,:],axis=1)
"""
SUBSCRIPTS = """\
def k(x: ak.In[ak.{d},T,8,H], i: ak.In[ak.i32,T].values(0,8), j: ak.In[ak.i64,3].values(0,H), o: ak.Out[ak.{d},T,H], p: ak.Out[ak.{d},T,8,3]):
    for t in ak.grid(ak.each(T)):
        v=x[t,:,:]
        o[t,:]=v[i[t],:]
        p[t,:,:]=v[:,j[:]]
"""
LOOKUP = """\
def k(w: ak.In[ak.{d},16], i: ak.In[ak.i32,T,N].values(0,16), o: ak.Out[ak.{d},T,N]):
    for t in ak.grid(T):
        o[t,:]=w[:][i[t,:]]
"""
BLOCKS = """\
def k(x: ak.In[ak.{d},N], i: ak.In[ak.i32,M].values(0,1), o: ak.Out[ak.{d},ak.cdiv(N,32),M]):
    for n,m in ak.grid(N,M,block=(32,None)):
        o[n.ordinal,m]=ak.take_along_axis(x[n],i[m],axis=0)
"""
CASES = [
    *((ROWS, dict(d=d, n="H", m=m, i=i, f=f), {"H": h}, {"T": t}) for d, h, m, i, f, t in [
        ("f32", 8, 3, "i32", "", 5), ("bf16", 300, 40, "i64", "*2.0", 5), ("u8", 1, 1, "i8", "", 70),
        ("f64", 37, 2, "u64", "", 3), ("f32", 9000, 5, "i32", "*2.0", 2), ("bool", 5, 7, "i32", "", 0)]),
    *((ROWS, dict(d=d, n="N+1", m=3, i="i32", f=f), {}, {"T": t, "N": n}) for d, f, t, n in [
        ("i64", "*3", 5, 9000), ("f16", "", 2, 0)]),
    *((COLUMNS, dict(d=d, n="H", m=m), {"H": h}, {"M": s}) for d, h, m, s in [("f32", 7, 5, 40), ("i16", 1, 1, 1)]),
    *((LONG, dict(d=d), {}, {"T": 3, "N": n}) for d, n in [("f32", 1), ("bf16", 9001)]),
    *((SUBSCRIPTS, dict(d=d), {"H": h}, {"T": 3}) for d, h in [("f32", 5), ("u16", 64)]),
    *((LOOKUP, dict(d=d), {}, {"T": 3, "N": n}) for d, n in [("f32", 1), ("e4m3", 9001)]),
    *((BLOCKS, dict(d=d), {}, {"N": n, "M": m}) for d, n, m in [("f32", 40, 7), ("i32", 5, 33)]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "names", "statics", "sizes"), CASES)
def test_what_is_taken_has_the_interpreters_bits(
    body: str, names: dict[str, object], statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    assert disagreements(body.format(**names), statics, sizes, ("special", "integers"), 2, simulator_cache) == []


def test_elements_are_taken_as_numpy_does(simulator_cache: Path) -> None:
    x, i = np.arange(21, dtype=np.float32).reshape(3, 7) ** 2, np.array([[6, 0], [1, 1], [3, 5]], np.int32)
    case = Case(ROWS.format(d="f32", n="H", m=2, i="i32", f=""), {"T": 3}, {"H": 7})
    found = run(case, {"x": x, "i": i}, simulator_cache)
    assert found["o"].tolist() == np.take_along_axis(x, i.astype(np.int64), 1).tolist()


def _codes(line: str) -> list[str]:
    body = f"""\
def k(x: ak.In[ak.f32,T,8], y: ak.In[ak.f32,T,N], i: ak.In[ak.i32,T,2], g: ak.In[ak.i32,T,2].values(0,8),
      h: ak.In[ak.i32,T,2].values(0,N), s: ak.In[ak.i32,T], o: ak.Out[ak.f32,T,2]):
    for t in ak.grid(T):
        v,w=x[t,:],y[t,:]
        {line}
        o[t,:]=r
"""
    result = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    return [d.code for d in result.diagnostics]


@pytest.mark.parametrize(
    "line",
    [
        "r=ak.take_along_axis(v,g[t,:],axis=1)",
        "r=ak.take_along_axis(w,h[t,:],axis=1)",
        "r=ak.take_along_axis(v,ak.clip(i[t,:],0,7),axis=1)",
        "r=ak.take_along_axis(v,i[t,:]%8,axis=1)",
        "r=ak.take_along_axis(v,ak.topk(v,2,axis=1)[1],axis=1)",
        "r=ak.take_along_axis(v,ak.where(s[t,None]>0,g[t,:],ak.topk(v,2,axis=1)[1]),axis=1)",
        "r=ak.take_along_axis(v,ak.minimum(ak.maximum(i[t,:],0),7),axis=1)",
        "ak.require((i[t,:]>=0)&(i[t,:]<8),'inside'); r=ak.take_along_axis(v,i[t,:],axis=1)",
    ],
)
def test_places_that_are_inside_are_accepted(line: str) -> None:
    assert _codes(line) == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("r=ak.take_along_axis(v,i[t,:],axis=1)", "AK302"),
        ("r=ak.take_along_axis(w,g[t,:],axis=1)", "AK302"),
        ("r=ak.take_along_axis(v,g[t,:]+1,axis=1)", "AK302"),
        ("r=ak.take_along_axis(v,ak.where(s[t,None]>0,g[t,:],i[t,:]),axis=1)", "AK302"),
        ("r=ak.take_along_axis(v,ak.maximum(i[t,:],0),axis=1)", "AK302"),
        ("r=ak.take_along_axis(v,ak.full((t,2),8,ak.i32),axis=1)", "AK301"),
        ("r=ak.take_along_axis(v,ak.full((t,2),-1,ak.i32),axis=1)", "AK301"),
        ("r=ak.take_along_axis(v,s[t],axis=1)", "AK122"),
        ("r=ak.take_along_axis(v,v,axis=1)", "AK206"),
        ("r=ak.take_along_axis(v[:,:2],g[t,:],axis=0)", "AK403"),
        ("r=ak.take_along_axis(v,g[t,:],axis=2)", "AK209"),
        ("r=v[g[t,:],g[t,:]]", "AK603"),
    ],
)
def test_places_that_may_be_outside_are_refused(line: str, code: str) -> None:
    assert _codes(line)[:1] == [code]


def test_a_requirement_that_holds_in_a_branch_alone_proves_nothing_behind_it() -> None:
    line = """if s0>0:
            ak.require((b>=0)&(b<8),'inside')
            r0=x[0,b]
        r=ak.take_along_axis(v,ak.broadcast_to(ak.where(b>3,b,0),(1,2)),axis=1)"""
    body = f"""\
def k(x: ak.In[ak.f32,1,8], s: ak.In[ak.i32,1], o: ak.Out[ak.f32,1,2]):
    for _ in ak.grid():
        v,b,s0=x[:,:],s[0],s[0]
        r0=x[0,0]
        {line}
        o[:,:]=r+r0
"""
    found = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    assert [d.code for d in found.diagnostics] == ["AK302"]


COMPUTED = """\
def k(y: ak.In[ak.f32,T,N], h: ak.In[ak.i32,T,2].values(0,N), g: ak.In[ak.i64,T,N].values(0,N), o: ak.Out[ak.f32,T,2],
      p: ak.Out[ak.f32,T,N], q: ak.Out[ak.f32,N,T]):
    for t in ak.grid(T):
        v=ak.cumsum(y[t,:],axis=1)
        o[t,:]=ak.take_along_axis(v,h[t,:],axis=1)
        p[t,:]=ak.take_along_axis(v+1,g[t,:],axis=1)
        q[:,t]=ak.take_along_axis((v*2).T,g[t,:].T,axis=0)
"""


@pytest.mark.parametrize("sizes", [{"T": 3, "N": 1}, {"T": 0, "N": 4}, {"T": 5, "N": 1001}])
def test_elements_of_long_values_that_are_computed_are_read_in_memory(
    sizes: dict[str, int], simulator_cache: Path
) -> None:
    assert disagreements(COMPUTED, {}, sizes, ("special", "integers"), 2, simulator_cache) == []
