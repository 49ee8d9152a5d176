"""Interpreter and simulator agree bit for bit where values do not fit the chip: in chunks, and kept in memory."""

from pathlib import Path

import pytest

from tests.compiler.agreement import disagreements

Sizes = dict[str, int]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "sum_of_two_axes": (
        """\
def k(x: ak.In[ak.f32,B,N,M], o: ak.Out[ak.f32,B]):
    for b in ak.grid(B):
        o[b] = ak.sum(x[b,:,:], axis=(1,2))
""",
        [({}, {"B": 3, "N": 37, "M": 300}), ({}, {"B": 3, "N": 0, "M": 4})],
    ),
    "softmax_of_a_matrix": (
        """\
def k(x: ak.In[ak.f32,B,N,M], o: ak.Out[ak.f32,B,N,M]):
    for b in ak.grid(B):
        v = x[b,:,:]
        m = ak.max(v, axis=2, keepdims=True)
        e = ak.exp(v - m)
        o[b,:,:] = e / ak.sum(e, axis=2, keepdims=True)
""",
        [({}, {"B": 3, "N": 17, "M": 300}), ({}, {"B": 3, "N": 0, "M": 4})],
    ),
    "column_sums": (
        """\
def k(x: ak.In[ak.f32,B,N,M], o: ak.Out[ak.f32,B,M]):
    for b in ak.grid(B):
        o[b,:] = ak.sum(x[b,:,:], axis=1)
""",
        [({}, {"B": 3, "N": 317, "M": 300}), ({}, {"B": 3, "N": 0, "M": 4})],
    ),
    "norm_of_a_matrix": (
        """\
def k(x: ak.In[ak.bf16,B,N,M], o: ak.Out[ak.bf16,B,N,M]):
    for b in ak.grid(B):
        v = x[b,:,:].to(ak.f32)
        mu = ak.mean(v, axis=(1,2), keepdims=True)
        d = v - mu
        var = ak.mean(d*d, axis=(1,2), keepdims=True)
        o[b,:,:] = (d * ak.rsqrt(var + 1e-5)).to(ak.bf16)
""",
        [({}, {"B": 2, "N": 37, "M": 100})],
    ),
    "long_parts_of_a_long_row": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,H], p: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        v = x[t,:] * 2.0
        s = ak.cumsum(v, axis=1, reverse=True)
        o[t,:8286] = s[:,:8286]
        o[t,8286:] = s[:,8286:]
        p[t,:8286] = v[:,:8286]
        p[t,8286:] = v[:,8286:]
""",
        [({"H": 20011}, {"T": 2}), ({"H": 8300}, {"T": 1})],
    ),
    "long_carried_row": (
        """\
def k(x: ak.In[ak.f32,N,T,M], o: ak.Out[ak.f32,T,M]):
    for t in ak.grid(T):
        acc = ak.zeros((t, M), ak.f32)
        for k in ak.steps(ak.each(N)):
            acc = acc + x[k,t,:]
        o[t,:] = acc
""",
        [({}, {"T": 3, "N": 7, "M": 3000}), ({}, {"T": 3, "N": 0, "M": 4})],
    ),
    "power_iteration": (
        """\
def k(a: ak.In[ak.f32,N,N], v: ak.In[ak.f32,N], o: ak.Out[ak.f32,N]):
    for t in ak.grid():
        w = v[:]
        for k in ak.steps(ak.each(0, 3)):
            y = ak.sum(a[:,:] * w[None,:], axis=1)
            w = y / ak.sqrt(ak.sum(y*y, axis=0))
        o[:] = w
""",
        [({}, {"N": 5})],
    ),
    "groups_of_a_long_row": (
        """\
def k(x: ak.In[ak.f32,T,N*8], o: ak.Out[ak.f32,T,N*8]):
    for t in ak.grid(T):
        v = x[t,:].reshape(t, N, 8)
        s = ak.max(ak.abs(v), axis=2, keepdims=True)
        o[t,:] = (v / s).reshape(t, N*8)
""",
        [({}, {"T": 3, "N": 130}), ({}, {"T": 3, "N": 0})],
    ),
    "joined_rows": (
        """\
def k(x: ak.In[ak.f32,T,N], y: ak.In[ak.f32,T,M], o: ak.Out[ak.f32,T,N+M]):
    for t in ak.grid(T):
        v = ak.concat((x[t,:], y[t,:]), axis=1)
        o[t,:] = v * ak.sum(v, axis=1, keepdims=True)
""",
        [({}, {"T": 3, "N": 317, "M": 3000}), ({}, {"T": 3, "N": 0, "M": 4})],
    ),
    "scans_both_ways": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,N], s: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        a = ak.cumsum(x[t,:], axis=1)
        b = ak.cumsum(x[t,:], axis=1, reverse=True)
        o[t,:] = a + b
        s[t] = ak.sum(b, axis=1)
""",
        [({}, {"T": 3, "N": 3000}), ({}, {"T": 3, "N": 0})],
    ),
    "row_before_and_after_its_store": (
        """\
def k(x: ak.InOut[ak.f32,T,N], s: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        a = x[t,:]
        x[t,:] = a * 2.0
        b = x[t,:]
        s[t] = ak.sum(a * b, axis=1)
""",
        [({}, {"T": 3, "N": 5})],
    ),
    "large_written_block": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,N], s: ak.Out[ak.f32,T,N]):
    for t, n in ak.grid(T, N, block=(1024,1024)):
        v = x[t,n]
        o[t,n] = v * 2.0
        s[t,n] = v / ak.sum(v, axis=1, keepdims=True)
""",
        [({}, {"T": 1030, "N": 3})],
    ),
    "static_matrix": (
        """\
def k(x: ak.In[ak.f32,T,H,G], o: ak.Out[ak.f32,T,G]):
    for t in ak.grid(T):
        v = x[t,:,:]
        o[t,:] = ak.sum(v * ak.sum(v, axis=2, keepdims=True), axis=1)
""",
        [({"H": 300, "G": 300}, {"T": 2})],
    ),
    "chosen_row": (
        """\
def k(x: ak.In[ak.f32,T,N], f: ak.In[ak.i32,T], o: ak.Out[ak.f32,T,N]):
    for t in ak.grid(ak.each(T)):
        v = x[t,:]
        if f[t] > 0:
            v = v * ak.sum(v, axis=0, keepdims=True)
        o[t,:] = v
""",
        [({}, {"T": 4, "N": 3000})],
    ),
    "free_steps": (
        """\
def k(x: ak.In[ak.i32,N,T,M], o: ak.Out[ak.i32,T,M]):
    for t in ak.grid(T):
        acc = ak.zeros((t, M), ak.i32)
        for k in ak.steps(N):
            acc = acc + ak.sum(x[k,t,:] * 3, axis=0)
        o[t,:] = acc
""",
        [({}, {"T": 3, "N": 3, "M": 5})],
    ),
    "free_steps_of_a_static_axis": (
        """\
def k(x: ak.In[ak.f32,H,T,M], o: ak.Out[ak.f32,T,M]):
    for t in ak.grid(T):
        acc = ak.full((t, M), -ak.inf, ak.f32)
        for k in ak.steps(H):
            acc = ak.maximum(acc, ak.max(x[k,t,:], axis=0))
        o[t,:] = acc * ak.sum(acc, axis=1, keepdims=True)
""",
        [({"H": 1}, {"T": 3, "M": 5})],
    ),
    "moving_average": (
        """\
def k(x: ak.In[ak.f32,N,M], o: ak.Out[ak.f32,N,M]):
    for g in ak.grid():
        s = ak.zeros((M,), ak.f32)
        for t in ak.steps(ak.each(N)):
            s = s * 0.9 + x[t,:] * 0.1
            o[t,:] = s
""",
        [({}, {"N": 3, "M": 5})],
    ),
    "swapped_rows": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,N], p: ak.Out[ak.f32,T,N]):
    for t in ak.grid(T):
        a = x[t,:]
        b = a * 2.0
        for k in ak.steps(ak.each(0, 3)):
            a, b = b + 1.0, a
            if k > 1:
                break
        o[t,:] = a
        p[t,:] = b
""",
        [({}, {"T": 3, "N": 3000})],
    ),
    "outer_product": (
        """\
def k(v: ak.In[ak.f32,N], o: ak.Out[ak.f32,N,N], q: ak.Out[ak.f32,N,N]):
    for g in ak.grid():
        a = v[:]
        c = ak.cumsum(a, axis=0)
        o[:,:] = a[:,None] * c[None,:]
        q[:,:] = (a[:,None] * c[None,:] + 1.0).T
""",
        [({}, {"N": 300})],
    ),
    "parts_of_a_scan": (
        """\
def k(x: ak.In[ak.f32,T,N+40], o: ak.Out[ak.f32,T,N], p: ak.Out[ak.f32,T,8]):
    for t in ak.grid(T):
        a = ak.cumsum(x[t,:], axis=1)
        o[t,:] = a[:,20:N+20] - a[:,:N]
        p[t,:] = a[:,3:11]
""",
        [({}, {"T": 3, "N": 3000})],
    ),
    "rows_that_stop": (
        """\
def k(x: ak.In[ak.f32,T,N,M], u: ak.In[ak.i32,T], o: ak.Out[ak.f32,T,M]):
    for t in ak.grid(T, block=8):
        s = ak.zeros((t,M), ak.f32)
        for k in ak.steps(N, block=4, until=u[t]):
            s = s + ak.sum(x[t,k,:], axis=1)
        o[t,:] = s
""",
        [({}, {"T": 11, "N": 7, "M": 5})],
    ),
    "gathered_rows": (
        """\
def k(x: ak.In[ak.f32,N,M], i: ak.In[ak.i32,T,N].values(0,N), o: ak.Out[ak.f32,T,N,M], s: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        v = ak.load(x[i[t,:], :], where=(i[t,:] > 2)[:,:,None], fill=1.0)
        o[t,:,:] = v
        s[t] = ak.sum(ak.max(v, axis=1), axis=1)
""",
        [({}, {"T": 3, "N": 5, "M": 3})],
    ),
    "pieces": (
        """\
def k(x: ak.In[ak.f32,N], o: ak.Out[ak.f32,N], s: ak.Out[ak.f32,3]):
    for p in ak.grid(ak.parts(N, 3)):
        v = x[p]
        for k in ak.steps(ak.each(0, 2)):
            v = v * 0.5 + ak.sum(v, axis=0)
        o[p] = v
        s[p.ordinal] = ak.max(v, axis=0)
""",
        [({}, {"N": n}) for n in (2, 1000)],
    ),
    "constants": (
        """\
def k(x: ak.In[ak.i32,B], o: ak.Out[ak.i32,B,N,M], s: ak.Out[ak.i32,B]):
    for b in ak.grid(B):
        ones = ak.full((b, N, M), 1, ak.i32)
        total = ak.sum(ones, axis=(1, 2), keepdims=True)
        o[b, :, :] = ones * x[b][:, None, None] + total
        s[b] = ak.sum(ones, axis=(1, 2))
""",
        [({}, {"B": 2, "N": 7, "M": 9})],
    ),
}
CASES = [
    pytest.param(body, statics, sizes, id=f"{name}-{'-'.join(f'{k}{v}' for k, v in {**statics, **sizes}.items())}")
    for name, (body, settings) in KERNELS.items()
    for statics, sizes in settings
]


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_interpreter_and_simulator_agree(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path):
    assert disagreements(body, statics, sizes, ("random",), 1, simulator_cache) == []
