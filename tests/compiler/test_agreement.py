"""Interpreter and simulator agree bit for bit over kernels that reach every topic of the lowering."""

from pathlib import Path

import pytest

from tests.compiler.agreement import disagreements

Sizes = dict[str, int]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "softmaxish": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        r=x[t,:]
        m=ak.max(r,axis=1,keepdims=True)
        e=r-m
        o[t,:]=e/ak.sum(e,axis=1,keepdims=True)
""",
        [
            ({"H": 5}, {"T": 3}),
            ({"H": 64}, {"T": 3}),
            ({"H": 200}, {"T": 3}),
            ({"H": 257}, {"T": 3}),
            ({"H": 1500}, {"T": 3}),
            ({"H": 9000}, {"T": 3}),
            ({"H": 20000}, {"T": 3}),
        ],
    ),
    "rowsum_dyn": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        r=x[t,:]
        o[t]=ak.sum(r,axis=1)
        p[t]=ak.max(r*r,axis=1)
""",
        [
            ({}, {"T": 3, "N": 0}),
            ({}, {"T": 3, "N": 1}),
            ({}, {"T": 3, "N": 3}),
            ({}, {"T": 3, "N": 100}),
            ({}, {"T": 3, "N": 1025}),
            ({}, {"T": 3, "N": 8192}),
            ({}, {"T": 3, "N": 8193}),
            ({}, {"T": 3, "N": 30000}),
        ],
    ),
    "norm_dyn": (
        """\
def k(x: ak.In[ak.bf16,T,N], o: ak.Out[ak.bf16,T,N]):
    for t in ak.grid(T):
        r=x[t,:].to(ak.f32)
        o[t,:]=(r*ak.rsqrt(ak.mean(r*r,axis=1,keepdims=True)+1e-6)).to(ak.bf16)
""",
        [
            ({}, {"T": 3, "N": 0}),
            ({}, {"T": 3, "N": 1}),
            ({}, {"T": 3, "N": 3}),
            ({}, {"T": 3, "N": 100}),
            ({}, {"T": 3, "N": 1025}),
            ({}, {"T": 3, "N": 8200}),
            ({}, {"T": 3, "N": 20001}),
        ],
    ),
    "colsum": (
        """\
def k(x: ak.In[ak.f32,N,M], o: ak.Out[ak.f32,M]):
    for m in ak.grid(M):
        o[m]=ak.sum(x[:,m],axis=0)
""",
        [
            ({}, {"N": 0, "M": 1}),
            ({}, {"N": 0, "M": 5}),
            ({}, {"N": 0, "M": 130}),
            ({}, {"N": 1, "M": 1}),
            ({}, {"N": 1, "M": 5}),
            ({}, {"N": 1, "M": 130}),
            ({}, {"N": 33, "M": 1}),
            ({}, {"N": 33, "M": 5}),
            ({}, {"N": 33, "M": 130}),
            ({}, {"N": 257, "M": 5}),
            ({}, {"N": 1000, "M": 1}),
            ({}, {"N": 1000, "M": 5}),
            ({}, {"N": 1000, "M": 130}),
            ({}, {"N": 1025, "M": 1}),
            ({}, {"N": 1025, "M": 5}),
            ({}, {"N": 1025, "M": 130}),
            ({}, {"N": 3000, "M": 1}),
            ({}, {"N": 3000, "M": 5}),
            ({}, {"N": 3000, "M": 130}),
        ],
    ),
    "colsum_static": (
        """\
def k(x: ak.In[ak.f32,H,M], o: ak.Out[ak.f32,M]):
    for m in ak.grid(M):
        o[m]=ak.sum(x[:,m],axis=0)
""",
        [
            ({"H": 1}, {"M": 1}),
            ({"H": 1}, {"M": 5}),
            ({"H": 1}, {"M": 130}),
            ({"H": 33}, {"M": 1}),
            ({"H": 33}, {"M": 5}),
            ({"H": 33}, {"M": 130}),
            ({"H": 1000}, {"M": 1}),
            ({"H": 1000}, {"M": 5}),
            ({"H": 1000}, {"M": 130}),
            ({"H": 1025}, {"M": 1}),
            ({"H": 1025}, {"M": 5}),
            ({"H": 1025}, {"M": 130}),
            ({"H": 257}, {"M": 132}),
            ({"H": 3000}, {"M": 132}),
            ({"H": 3000}, {"M": 1}),
            ({"H": 3000}, {"M": 5}),
            ({"H": 3000}, {"M": 130}),
        ],
    ),
    "outer": (
        """\
def k(x: ak.In[ak.f32,N], y: ak.In[ak.f32,M], o: ak.Out[ak.f32,N,M]):
    for n,m in ak.grid(N,M):
        o[n,m]=x[n,None]+y[m]
""",
        [
            ({}, {"N": 1, "M": 1}),
            ({}, {"N": 1, "M": 5}),
            ({}, {"N": 1, "M": 130}),
            ({}, {"N": 7, "M": 1}),
            ({}, {"N": 7, "M": 5}),
            ({}, {"N": 7, "M": 130}),
            ({}, {"N": 33, "M": 1}),
            ({}, {"N": 33, "M": 5}),
            ({}, {"N": 33, "M": 130}),
        ],
    ),
    "reshape_group": (
        """\
def k(x: ak.In[ak.bf16,T,H], o: ak.Out[ak.f32,T,H//G], p: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        r=x[t,:].to(ak.f32).reshape(t,H//G,G)
        a=ak.sum(r,axis=2)
        o[t,:]=a
        p[t,:]=(r/a[:,:,None]).reshape(t,H)
""",
        [
            ({"H": 128, "G": 32}, {"T": 3}),
            ({"H": 576, "G": 64}, {"T": 3}),
            ({"H": 72, "G": 9}, {"T": 3}),
            ({"H": 96, "G": 24}, {"T": 3}),
            ({"H": 60, "G": 20}, {"T": 3}),
            ({"H": 7168, "G": 128}, {"T": 3}),
            ({"H": 512, "G": 4}, {"T": 3}),
        ],
    ),
    "transpose": (
        """\
def k(x: ak.In[ak.f32,N,M], o: ak.Out[ak.f32,M,N]):
    for n,m in ak.grid(N,M):
        o[m,n]=x[n,m].T
""",
        [
            ({}, {"N": 1, "M": 1}),
            ({}, {"N": 1, "M": 65}),
            ({}, {"N": 1, "M": 130}),
            ({}, {"N": 7, "M": 1}),
            ({}, {"N": 7, "M": 65}),
            ({}, {"N": 7, "M": 130}),
            ({}, {"N": 133, "M": 1}),
            ({}, {"N": 133, "M": 65}),
            ({}, {"N": 133, "M": 130}),
        ],
    ),
    "block2d": (
        """\
def k(x: ak.In[ak.bf16,N,M], o: ak.Out[ak.f32,ak.cdiv(N,32),ak.cdiv(M,64)], q: ak.Out[ak.f32, ak.cdiv(N,32),M]):
    for n,m in ak.grid(N,M,block=(32,64)):
        v=x[n,m].to(ak.f32)
        o[n.ordinal,m.ordinal]=ak.absmax(v,axis=(0,1))
        q[n.ordinal,m]=ak.sum(v,axis=0)
""",
        [
            ({}, {"N": 1, "M": 1}),
            ({}, {"N": 1, "M": 65}),
            ({}, {"N": 1, "M": 130}),
            ({}, {"N": 33, "M": 1}),
            ({}, {"N": 33, "M": 65}),
            ({}, {"N": 33, "M": 130}),
            ({}, {"N": 100, "M": 1}),
            ({}, {"N": 100, "M": 65}),
            ({}, {"N": 100, "M": 130}),
        ],
    ),
    "ints": (
        """\
def k(x: ak.In[ak.i32,N], y: ak.In[ak.i64,N], o: ak.Out[ak.i64,N], p: ak.Out[ak.i32,N], b: ak.Out[ak.bool,N]):
    for n in ak.grid(N):
        a=x[n]
        c=y[n]
        o[n]=ak.where(c>5,c*3,a.to(ak.i64)//7)+n.index
        p[n]=ak.maximum(a%5,(a>>2)&15)-(a^3)
        b[n]=(a>3)&(c<100)
""",
        [({}, {"N": 1}), ({}, {"N": 33}), ({}, {"N": 1000})],
    ),
    "total": (
        """\
def k(x: ak.In[ak.f32,N], o: ak.Out[ak.f32,1]):
    for _ in ak.grid():
        o[0]=ak.sum(x[:],axis=0)
""",
        [({}, {"N": 0}), ({}, {"N": 1}), ({}, {"N": 33}), ({}, {"N": 20000})],
    ),
    "multi_axis_sum": (
        """\
def k(x: ak.In[ak.f32,T,3,H], o: ak.Out[ak.f32,T], q: ak.Out[ak.f32,H]):
    for t in ak.grid(T):
        o[t]=ak.sum(x[t,:,:],axis=(1,2))
    for h in ak.grid(H):
        q[h]=ak.sum(x[:,:,h],axis=(0,1)) if False else ak.sum(ak.sum(x[:,:,h],axis=1),axis=0)
""",
        [
            ({"H": 5}, {"T": 1}),
            ({"H": 5}, {"T": 3}),
            ({"H": 5}, {"T": 40}),
            ({"H": 64}, {"T": 1}),
            ({"H": 64}, {"T": 3}),
            ({"H": 64}, {"T": 40}),
            ({"H": 300}, {"T": 1}),
            ({"H": 300}, {"T": 3}),
            ({"H": 300}, {"T": 40}),
        ],
    ),
    "square": (
        """\
def k(x: ak.In[ak.f32,T,8], o: ak.Out[ak.f32,T,8,8]):
    for t in ak.grid(T):
        a=x[t,:]
        o[t,:,:]=a[:,:,None]*a[:,None,:]
""",
        [({}, {"T": 1}), ({}, {"T": 3}), ({}, {"T": 40})],
    ),
    "casts": (
        """\
def k(x: ak.In[ak.f32,N], a: ak.Out[ak.e4m3,N], b: ak.Out[ak.f16,N], c: ak.Out[ak.i32,N], d: ak.Out[ak.i64,N], e: ak.Out[ak.e5m2,N], f: ak.Out[ak.f32,N], g:ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        v=x[n]
        a[n]=v.to(ak.e4m3)
        b[n]=v.to(ak.f16)
        c[n]=v.to(ak.i32)
        d[n]=v.to(ak.i64)
        e[n]=v.to(ak.e5m2)
        f[n]=-v
        g[n]=ak.where(v>0,ak.abs(v),v.to(ak.bf16).to(ak.f32))
""",
        [({}, {"N": 1}), ({}, {"N": 33}), ({}, {"N": 1000})],
    ),
    "slice": (
        """\
def k(x: ak.In[ak.f32,T,2*H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        v=x[t,:]
        o[t,:]=v[:,:H]*v[:,H:]
""",
        [
            ({"H": 5}, {"T": 1}),
            ({"H": 5}, {"T": 3}),
            ({"H": 5}, {"T": 40}),
            ({"H": 64}, {"T": 1}),
            ({"H": 64}, {"T": 3}),
            ({"H": 64}, {"T": 40}),
            ({"H": 300}, {"T": 1}),
            ({"H": 300}, {"T": 3}),
            ({"H": 300}, {"T": 40}),
        ],
    ),
    "regrouped_twice": (
        """\
def k(c: ak.In[ak.f32,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        w=c[:]
        o[t,:]=w.reshape(2,H//2).T.reshape(H)
""",
        [
            ({"H": 2}, {"T": 3}),
            ({"H": 6}, {"T": 3}),
            ({"H": 8}, {"T": 3}),
            ({"H": 64}, {"T": 3}),
            ({"H": 2048}, {"T": 3}),
        ],
    ),
    "minmax_any": (
        """\
def k(x: ak.In[ak.bf16,T,H], o: ak.Out[ak.bf16,T], a: ak.Out[ak.bool,T], b: ak.Out[ak.i32,T], c: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        v=x[t,:]
        o[t]=ak.min(v,axis=1)
        a[t]=ak.any(v>1.0,axis=1)
        b[t]=ak.sum(v>0.0,axis=1)
        c[t]=ak.prod(v.to(ak.f32),axis=1)
""",
        [
            ({"H": 1}, {"T": 1}),
            ({"H": 1}, {"T": 40}),
            ({"H": 5}, {"T": 1}),
            ({"H": 5}, {"T": 40}),
            ({"H": 64}, {"T": 1}),
            ({"H": 64}, {"T": 40}),
            ({"H": 300}, {"T": 1}),
            ({"H": 300}, {"T": 40}),
            ({"H": 9001}, {"T": 1}),
            ({"H": 9001}, {"T": 40}),
        ],
    ),
}

CASES = [
    pytest.param(body, statics, sizes, id="-".join([name, *(f"{k}{v}" for k, v in (statics | sizes).items())]))
    for name, (body, grid) in KERNELS.items()
    for statics, sizes in grid
]


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_kernel_has_the_interpreters_bits(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path) -> None:
    assert disagreements(body, statics, sizes, ("random", "special"), 2, simulator_cache) == []
