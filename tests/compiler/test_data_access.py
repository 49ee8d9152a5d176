"""Windows, masks and gathers: interpreter and simulator agree bit for bit, over extents, inputs and schedules."""

from pathlib import Path

import pytest

from tests.compiler.agreement import disagreements

Sizes = dict[str, int]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "a row and the one before it": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        o[t,:]=x[t,:]+ak.load(x[t-1,:],fill=0)
""",
        [({"H": 5}, {"T": 7}), ({"H": 64}, {"T": 1}), ({"H": 300}, {"T": 131}), ({"H": 9000}, {"T": 2})],
    ),
    "neighbours on the fast axis": (
        """\
def k(x: ak.In[ak.bf16,T], o: ak.Out[ak.bf16,T]):
    for t in ak.grid(T):
        a=ak.load(x[t-1],fill=0).to(ak.f32)+x[t].to(ak.f32)
        o[t]=(a+ak.load(x[t+8],fill=-2.5).to(ak.f32)).to(ak.bf16)
""",
        [({}, {"T": 0}), ({}, {"T": 1}), ({}, {"T": 7}), ({}, {"T": 3001})],
    ),
    "every second element of both axes": (
        """\
def k(x: ak.In[ak.f32,2*T,2*N], o: ak.Out[ak.f32,T,N]):
    for t,n in ak.grid(T,N):
        o[t,n]=x[2*t,2*n]+x[2*t+1,2*n]+x[2*t,2*n+1]*x[2*t+1,2*n+1]
""",
        [({}, {"T": 0, "N": 4}), ({}, {"T": 1, "N": 1}), ({}, {"T": 7, "N": 5}), ({}, {"T": 30, "N": 77})],
    ),
    "a window that counts down, with a run-time start": (
        """\
def k(x: ak.In[ak.f32,T], s: ak.In[ak.i32,N], o: ak.Out[ak.f32,N,T]):
    for n, t in ak.grid(ak.each(N), T):
        o[n,t]=ak.load(x[T-1-t],fill=0)-ak.load(x[s[n]-2*t],fill=1.5)
""",
        [({}, {"T": 1, "N": 3}), ({}, {"T": 131, "N": 2}), ({}, {"T": 0, "N": 2})],
    ),
    "rows by checked numbers": (
        """\
def k(x: ak.In[ak.f32,T,H], i: ak.In[ak.i32,N], o: ak.Out[ak.f32,N,H]):
    for n in ak.grid(N):
        r=i[n]
        ok=(r>=0)&(r<T)
        o[n,:]=ak.load(x[r,:],where=ok[:,None],fill=1.5)
""",
        [
            ({"H": 5}, {"T": 3, "N": 9}),
            ({"H": 64}, {"T": 2, "N": 40}),
            ({"H": 8}, {"T": 0, "N": 4}),
            ({"H": 9001}, {"T": 3, "N": 2}),
        ],
    ),
    "tiles of indices broadcast together in the place of the first": (
        """\
def k(x: ak.In[ak.f32,4,T,4,H], i: ak.In[ak.i32,N], j: ak.In[ak.i32,M], o: ak.Out[ak.f32,N,M,T,H]):
    for t, n, m in ak.grid(T, N, M):
        o[n,m,t,:]=ak.load(x[i[n][:,None],t,j[m],:],fill=0)
""",
        [
            ({"H": 5}, {"T": 2, "N": 3, "M": 2}),
            ({"H": 8}, {"T": 1, "N": 1, "M": 5}),
            ({"H": 4}, {"T": 3, "N": 0, "M": 2}),
        ],
    ),
    "one element for each index": (
        """\
def k(x: ak.In[ak.f32,T,N], i: ak.In[ak.i64,T], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        o[t]=ak.load(x[t.index,i[t]],fill=-0.0)
""",
        [({}, {"T": 9, "N": 3}), ({}, {"T": 1, "N": 1}), ({}, {"T": 260, "N": 4}), ({}, {"T": 3, "N": 0})],
    ),
    "a mask along the fast axis, scalars as masks, bool data": (
        """\
def k(x: ak.In[ak.f16,T,H], m: ak.In[ak.bool,T,H], o: ak.Out[ak.f16,T,H]):
    for t in ak.grid(T):
        o[t,:]=0
        ak.store(o[t,:], ak.load(x[t,:],where=m[t,:],fill=2), where=m[t,:])
        ak.store(o[t,0:1], 7, where=True)
""",
        [({"H": 5}, {"T": 3}), ({"H": 64}, {"T": 9}), ({"H": 301}, {"T": 2}), ({"H": 9000}, {"T": 2})],
    ),
    "columns gathered on the last axis": (
        """\
def k(x: ak.In[ak.u8,T,N], i: ak.In[ak.i32,M], o: ak.Out[ak.u8,T,M]):
    for t, m in ak.grid(T, M):
        o[t,m]=ak.load(x[t,i[m]],fill=255)
""",
        [({}, {"T": 5, "N": 3, "M": 9}), ({}, {"T": 1, "N": 1, "M": 300}), ({}, {"T": 3, "N": 0, "M": 2})],
    ),
    "a store through a window": (
        """\
def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,2*T]):
    for t in ak.grid(T):
        o[2*t]=x[t]
        o[2*t+1]=-x[t]
""",
        [({}, {"T": 0}), ({}, {"T": 1}), ({}, {"T": 131})],
    ),
    "rows of a table by promised numbers": (
        """\
def k(x: ak.In[ak.bf16,M,H], i: ak.In[ak.i64,N].values(0,M), o: ak.Out[ak.bf16,N,H]):
    for n in ak.grid(N):
        o[n,:]=x[i[n],:]
""",
        [
            ({"H": 5}, {"M": 3, "N": 9}),
            ({"H": 576}, {"M": 2, "N": 40}),
            ({"H": 8}, {"M": 1, "N": 0}),
            ({"H": 9001}, {"M": 3, "N": 2}),
        ],
    ),
    "rows to their places, the others zero": (
        """\
def k(x: ak.In[ak.bf16,T,H], p: ak.In[ak.i32,T,2].values(0,N,ignore=-1).distinct(ignore=-1), e: ak.In[ak.i32,N], o: ak.Out[ak.bf16,N,H].partial()):
    for t in ak.grid(T):
        row=x[t,:]
        for s in range(2):
            a=p[t,s]
            ak.store(o[a,:],row,where=(a>=0)[:,None])
    for n in ak.grid(N):
        ak.store(o[n,:],0,where=(e[n]<0)[:,None])
""",
        [
            ({"H": 5}, {"T": 3, "N": 9}),
            ({"H": 576}, {"T": 7, "N": 5}),
            ({"H": 8}, {"T": 3, "N": 0}),
            ({"H": 9001}, {"T": 2, "N": 3}),
        ],
    ),
    "a scatter of a whole tile of places": (
        """\
def k(v: ak.In[ak.f32,T,4], p: ak.In[ak.i32,T,4].values(0,N,ignore=-1).distinct(ignore=-1), o: ak.Out[ak.f32,N].partial()):
    for t in ak.grid(T):
        a=p[t,:]
        ak.store(o[a],v[t,:],where=a>=0)
""",
        [({}, {"T": 3, "N": 20}), ({}, {"T": 131, "N": 300}), ({}, {"T": 3, "N": 0}), ({}, {"T": 0, "N": 5})],
    ),
    "rows of a token added in the order of its slots": (
        """\
def k(x: ak.In[ak.bf16,N,H], w: ak.In[ak.f32,T,3], p: ak.In[ak.i32,T,3].values(0,N,ignore=-1), o: ak.Out[ak.bf16,T,H]):
    for t in ak.grid(T):
        acc=ak.zeros((t,H),ak.f32)
        for s in range(3):
            a=p[t,s]
            ok=(a>=0)[:,None]
            v=ak.load(x[a,:],where=ok,fill=0).to(ak.f32)
            acc=ak.where(ok,ak.fma(v,w[t,s][:,None],acc),acc)
        o[t,:]=acc.to(ak.bf16)
""",
        [({"H": 5}, {"T": 3, "N": 9}), ({"H": 576}, {"T": 40, "N": 2}), ({"H": 8}, {"T": 3, "N": 0})],
    ),
    "padded windows of both axes, without their edges": (
        """\
def k(x: ak.In[ak.f32,N,M], o: ak.Out[ak.f32,ak.cdiv(N,2),ak.cdiv(M,2)]):
    for i, j in ak.grid(ak.cdiv(N,2), ak.cdiv(M,2)):
        best=ak.full((i,j),-ak.inf,ak.f32)
        for dy in range(3):
            for dx in range(3):
                best=ak.maximum(best,ak.load(x[2*i+(dy-1),2*j+(dx-1)],fill=-ak.inf))
        o[i,j]=best
""",
        [({}, {"N": 1, "M": 1}), ({}, {"N": 0, "M": 3}), ({}, {"N": 7, "M": 6}), ({}, {"N": 30, "M": 131})],
    ),
    "counts, sums and extremes of i32 by atomics": (
        """\
def k(i: ak.In[ak.i32,T].values(0,N,ignore=-1), x: ak.In[ak.i32,T,3], c: ak.Out[ak.i32,N], a: ak.InOut[ak.i32,N,3], b: ak.InOut[ak.i32,N,3], s: ak.InOut[ak.i32,3]):
    for n in ak.grid(N):
        c[n]=0
    for t in ak.grid(T):
        r=i[t]
        ak.atomic_add(c[r], 1, where=r>=0)
        ak.atomic_max(a[r,:], x[t,:], where=(r>=0)[:,None])
        ak.atomic_min(b[r,:], x[t,:], where=(r>=0)[:,None])
    for t in ak.grid(ak.each(T)):
        ak.atomic_add(s[:], x[t,:])
""",
        [({}, {"T": 300, "N": 7}), ({}, {"T": 1, "N": 1}), ({}, {"T": 3, "N": 0}), ({}, {"T": 0, "N": 3})],
    ),
    "counts, sums and extremes of u32 by atomics": (
        """\
def k(i: ak.In[ak.i32,T].values(0,N,ignore=-1), x: ak.In[ak.u32,T,3], c: ak.Out[ak.i32,N], a: ak.InOut[ak.u32,N,3], b: ak.InOut[ak.u32,N,3], s: ak.InOut[ak.u32,3]):
    for n in ak.grid(N):
        c[n]=0
    for t in ak.grid(T):
        r=i[t]
        ak.atomic_add(c[r], 1, where=r>=0)
        ak.atomic_max(a[r,:], x[t,:], where=(r>=0)[:,None])
        ak.atomic_min(b[r,:], x[t,:], where=(r>=0)[:,None])
    for t in ak.grid(ak.each(T)):
        ak.atomic_add(s[:], x[t,:])
""",
        [({}, {"T": 300, "N": 7}), ({}, {"T": 1, "N": 1}), ({}, {"T": 3, "N": 0}), ({}, {"T": 0, "N": 3})],
    ),
    "counts, sums and extremes of i64 by atomics": (
        """\
def k(i: ak.In[ak.i32,T].values(0,N,ignore=-1), x: ak.In[ak.i64,T,3], c: ak.Out[ak.i32,N], a: ak.InOut[ak.i64,N,3], b: ak.InOut[ak.i64,N,3], s: ak.InOut[ak.i64,3]):
    for n in ak.grid(N):
        c[n]=0
    for t in ak.grid(T):
        r=i[t]
        ak.atomic_add(c[r], 1, where=r>=0)
        ak.atomic_max(a[r,:], x[t,:], where=(r>=0)[:,None])
        ak.atomic_min(b[r,:], x[t,:], where=(r>=0)[:,None])
    for t in ak.grid(ak.each(T)):
        ak.atomic_add(s[:], x[t,:])
""",
        [({}, {"T": 300, "N": 7}), ({}, {"T": 1, "N": 1}), ({}, {"T": 3, "N": 0}), ({}, {"T": 0, "N": 3})],
    ),
    "counts, sums and extremes of u64 by atomics": (
        """\
def k(i: ak.In[ak.i32,T].values(0,N,ignore=-1), x: ak.In[ak.u64,T,3], c: ak.Out[ak.i32,N], a: ak.InOut[ak.u64,N,3], b: ak.InOut[ak.u64,N,3], s: ak.InOut[ak.u64,3]):
    for n in ak.grid(N):
        c[n]=0
    for t in ak.grid(T):
        r=i[t]
        ak.atomic_add(c[r], 1, where=r>=0)
        ak.atomic_max(a[r,:], x[t,:], where=(r>=0)[:,None])
        ak.atomic_min(b[r,:], x[t,:], where=(r>=0)[:,None])
    for t in ak.grid(ak.each(T)):
        ak.atomic_add(s[:], x[t,:])
""",
        [({}, {"T": 300, "N": 7}), ({}, {"T": 1, "N": 1}), ({}, {"T": 3, "N": 0}), ({}, {"T": 0, "N": 3})],
    ),
}
CASES = [(name, statics, sizes) for name, (_, cases) in KERNELS.items() for statics, sizes in cases]


@pytest.mark.parametrize(
    ("name", "statics", "sizes"), CASES, ids=[f"{n} {'-'.join(map(str, (s | z).values()))}" for n, s, z in CASES]
)
def test_interpreter_and_simulator_agree(name: str, statics: Sizes, sizes: Sizes, simulator_cache: Path):
    assert not disagreements(KERNELS[name][0], statics, sizes, ("random", "special", "integers"), 3, simulator_cache)
