"""Joined, repeated, cut and re-read axes: the simulator has the interpreter's bits, the interpreter NumPy's meaning."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.interpreter import interpret
from tests.compiler.agreement import HEADER, arrays, compiled, disagreements

Sizes = dict[str, int]

ROPE = """\
def k(x: ak.In[ak.bf16,T,2*H], c: ak.In[ak.f32,T,H], s: ak.In[ak.f32,T,H], o: ak.Out[ak.bf16,T,2*H]):
    for t in ak.grid(T):
        v=x[t,:].to(ak.f32)
        a,b=v[:,:H],v[:,H:]
        o[t,:]=ak.concat((a*c[t,:]-b*s[t,:],b*c[t,:]+a*s[t,:]),axis=1).to(ak.bf16)
"""
JOINS = """\
def k(x: ak.In[ak.{dtype},T,H], y: ak.In[ak.{dtype},T,3], o: ak.Out[ak.{dtype},T,2*H+3], p: ak.Out[ak.{dtype},T,2,H],
      q: ak.Out[ak.{dtype},2,T], r: ak.Out[ak.{dtype},T,H]):
    for t in ak.grid(T):
        v=x[t,:]
        o[t,:]=ak.concat((v,y[t,:],v),axis=-1)
        p[t,:,:]=ak.stack((v,ak.where(v>1,v,v)),axis=1)
        q[:,t]=ak.stack((v[:,0],y[t,2]))
        r[t,:]=ak.concat((v,),axis=1)
"""
EMPTY = """\
def k(x: ak.In[ak.{dtype},H], y: ak.In[ak.{dtype},3], o: ak.Out[ak.{dtype},3,2*H], p: ak.Out[ak.{dtype},H+3]):
    for _ in ak.grid():
        v=ak.stack((x[:],x[:],x[:]),axis=0)
        o[:,:]=ak.concat((v,v),axis=1)
        p[:]=ak.concat((x[:],y[:]),axis=0)
"""
REPEATS = """\
def k(x: ak.In[ak.{dtype},T,H], o: ak.Out[ak.{dtype},T,3*H], p: ak.Out[ak.{dtype},T,2,H], q: ak.Out[ak.{dtype},H*4],
      r: ak.Out[ak.i64,T,H]):
    for t in ak.grid(T):
        v=x[t,:]
        o[t,:]=ak.repeat(v,3,axis=1)
        p[t,:,:]=ak.repeat(v[:,None,:],2,axis=1)
        r[t,:]=ak.broadcast_to(ak.arange(H),(t,H))
    for _ in ak.grid():
        q[:]=ak.repeat(ak.arange(H*2).to(ak.{dtype}),2) if True else None
"""
LAST = """\
def k(x: ak.In[ak.{dtype},T,N+1], y: ak.In[ak.{dtype},T,H], o: ak.Out[ak.{dtype},T], p: ak.Out[ak.{dtype},T],
      q: ak.Out[ak.{dtype},ak.cdiv(T,8),H], r: ak.Out[ak.i64,N]):
    for t in ak.grid(T):
        o[t]=ak.last(x[t,:],axis=1)
        p[t]=ak.last(y[t,:],-1)
    for b in ak.grid(T,block=8):
        q[b.ordinal,:]=ak.last(y[b,:],0)
    for _ in ak.grid():
        r[:]=ak.arange(N)*2
"""
BITS = """\
def k(x: ak.In[ak.{narrow},T,8*H], y: ak.In[ak.{wide},T,H], o: ak.Out[ak.{wide},T,8*H//{r}], p: ak.Out[ak.{narrow},T,H*{r}]):
    for t in ak.grid(T):
        o[t,:]=x[t,:].bitcast(ak.{wide})
        p[t,:]=y[t,:].bitcast(ak.{narrow})
"""
DIVISIONS = """\
def k(x: ak.In[ak.{dtype},N], y: ak.In[ak.{dtype},N], o: ak.Out[ak.{dtype},N], p: ak.Out[ak.{dtype},N], q: ak.Out[ak.{dtype},N]):
    for n in ak.grid(N):
        d=ak.where(y[n]==0,1,y[n])
        o[n]=ak.trunc_div(x[n],d)
        p[n]=ak.trunc_mod(x[n],d)
        q[n]=x[n]**3+y[n]**0
"""
CASES = [
    *((ROPE, {"H": h}, {"T": t}) for h, t in [(1, 3), (5, 3), (64, 3), (128, 40)]),
    *((JOINS.format(dtype=d), {"H": h}, {"T": t}) for d, h, t in [
        ("f32", 1, 1), ("bf16", 5, 3), ("i64", 64, 3), ("e4m3", 7, 40), ("u8", 300, 2)] if d != "e4m3"),
    *((EMPTY.format(dtype="u32"), {"H": h}, {}) for h in (0, 2)),
    *((REPEATS.format(dtype=d), {"H": h}, {"T": t}) for d, h, t in [("f32", 1, 3), ("i32", 5, 3), ("i16", 64, 40)]),
    *((LAST.format(dtype=d), {"H": h}, {"T": t, "N": n}) for d, h, t, n in [
        ("f32", 1, 1, 0), ("bf16", 5, 3, 100), ("bool", 64, 40, 9), ("e5m2", 300, 17, 3000), ("i64", 3, 9, 20000)]),
    *((BITS.format(narrow=a, wide=b, r=r), {"H": h}, {"T": t}) for a, b, r, h, t in [
        ("u8", "u32", 4, 3, 3), ("e4m3", "f32", 4, 16, 5), ("i16", "f64", 4, 1, 1), ("bf16", "f32", 2, 64, 40),
        ("u8", "i64", 8, 5, 3), ("u8", "f16", 2, 7, 3)]),
    *((DIVISIONS.format(dtype=d), {}, {"N": n}) for d, n in [
        ("i32", 1000), ("i64", 33), ("u32", 100), ("i8", 1000), ("u64", 33), ("i16", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_moved_axes_have_the_interpreters_bits(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path) -> None:
    assert disagreements(body, statics, sizes, ("random", "special"), 2, simulator_cache) == []


def interpreted(body: str, statics: Sizes, sizes: Sizes) -> dict[str, np.ndarray]:
    result = compiled(body, statics, sizes)
    assert result.kernel is not None
    found = arrays(result.kernel, sizes, "random")
    interpret(result.kernel, found, sizes, {})
    return found


def test_axes_are_joined_and_repeated_as_numpy_does():
    found = interpreted(JOINS.format(dtype="i32"), {"H": 5}, {"T": 3})
    x, y = found["x"], found["y"]
    assert np.array_equal(found["o"], np.concatenate((x, y, x), -1))
    assert np.array_equal(found["p"], np.stack((x, x), 1))
    assert np.array_equal(found["q"], np.stack((x[:, 0], y[:, 2])))
    found = interpreted(REPEATS.format(dtype="i32"), {"H": 5}, {"T": 3})
    assert np.array_equal(found["o"], np.repeat(found["x"], 3, axis=1))
    assert np.array_equal(found["q"], np.repeat(np.arange(10), 2))


def test_quotients_are_cut_toward_zero_and_powers_are_products():
    found = interpreted(DIVISIONS.format(dtype="i32"), {}, {"N": 1000})
    x = found["x"].astype(object)
    d = np.where(found["y"] == 0, 1, found["y"]).astype(object)
    quotient = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, d, strict=True)]
    assert found["o"].tolist() == quotient
    assert found["p"].tolist() == [a - q * b for a, q, b in zip(x, quotient, d, strict=True)]
    assert found["q"].tolist() == [(a**3 + 1 + 2**31) % 2**32 - 2**31 for a in x]


def test_bits_of_an_axis_are_read_in_memory_order():
    found = interpreted(BITS.format(narrow="u8", wide="u32", r=4), {"H": 4}, {"T": 3})
    assert found["o"].tobytes() == found["x"].tobytes()
    assert found["p"].tobytes() == found["y"].tobytes()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ak.concat((x[t,:],y[t,:][:,:,None]),axis=1)", "AK122"),
        ("ak.concat((x[t,:],x[t,:]),axis=0)", "AK404"),
        ("ak.concat(x[t,:])", "AK122"),
        ("ak.stack((x[t,:],y[t,:]))", "AK122"),
        ("ak.repeat(x[t,:],2,axis=0)", "AK404"),
        ("ak.repeat(x[t,:],-1,axis=1)", "AK122"),
        ("ak.last(x[t,:],0)", "AK403"),
        ("ak.arange(t)", "AK405"),
        ("y[t,:].bitcast(ak.f64)", "AK212"),
        ("ak.trunc_div(x[t,:],y[t,:])", "AK206"),
    ],
)
def test_what_has_no_shape_is_rejected(line: str, code: str) -> None:
    body = f"""\
def k(x: ak.In[ak.f32,T,4], y: ak.In[ak.f32,T,5], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        v={line}
        o[t]=x[t,0]
"""
    result = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    assert [d.code for d in result.diagnostics] == [code]


def test_the_last_position_of_an_axis_that_may_be_empty_is_refuted():
    body = """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        o[t]=ak.last(x[t,:],1)
"""
    assert [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py")).diagnostics] == ["AK331"]


TURNS = """\
def k(x: ak.In[ak.{dtype},B,M,N], y: ak.In[ak.{dtype},B,N,M], o: ak.Out[ak.{dtype},B,N,M], p: ak.Out[ak.bool,B,M,N]):
    for b,m,n in ak.grid(B,M,N):
        turned=x[b,m,n].transpose(0,2,1)
        o[b,n,m]=turned
        p[b,m,n]=x[b,m,n]==y[b,n,m].transpose(0,2,1)
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", ["bf16", "f32", "i8"])
def test_a_batch_of_matrices_is_turned(dtype: str, simulator_cache: Path):
    for sizes in ({"B": 2, "M": 70, "N": 131}, {"B": 1, "M": 1, "N": 200}, {"B": 0, "M": 3, "N": 3}):
        body = TURNS.replace("{dtype}", dtype)
        assert disagreements(body, {}, sizes, ("random", "special"), 4, simulator_cache) == []
