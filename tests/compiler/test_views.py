"""Views of tensors: interpreter and simulator agree bit for bit, through every step of a view, read and written."""

from pathlib import Path

import pytest

from tests.compiler.agreement import disagreements

Sizes = dict[str, int]
ROWS: list[tuple[Sizes, Sizes]] = [
    ({"H": 1, "G": 1}, {"T": 0}),
    ({"H": 6, "G": 3}, {"T": 1}),
    ({"H": 72, "G": 8}, {"T": 37}),
]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "rows joined, read and written": (
        """\
def k(x: ak.In[ak.bf16,T,H], o: ak.Out[ak.bf16,T,H]):
    flat=x.reshape(T*H)
    for n in ak.grid(T*H):
        o.reshape(T*H)[n]=(flat[n].to(ak.f32)*0.5).to(ak.bf16)
""",
        ROWS,
    ),
    "a row parted, reduced by group": (
        """\
def k(x: ak.In[ak.f32,T,H*G], o: ak.Out[ak.f32,T,H], p: ak.Out[ak.f32,T,H*G]):
    parts=p.reshape(T,H,G)
    for t,h in ak.grid(T,H):
        v=x.reshape(T,H,G)[t,h,:]
        o[t,h]=ak.sum(v,axis=2)
        parts[t,h,:]=v+1.0
""",
        ROWS,
    ),
    "turned, read and written": (
        """\
def k(x: ak.In[ak.f32,T,H], y: ak.In[ak.bf16,T,H,G], o: ak.Out[ak.f32,H,T], p: ak.Out[ak.bf16,G,T,H]):
    for h,t in ak.grid(H,T):
        o[h,t]=x.T[h,t]
    for t in ak.grid(T):
        p.transpose(1,2,0)[t,:,:]=y[t,:,:]
""",
        ROWS,
    ),
    "halves of a row": (
        """\
def k(x: ak.In[ak.f32,T,2*H], o: ak.Out[ak.f32,T,H], p: ak.Out[ak.f32,T,2*H]):
    left,right=x[:,:H],x[:,H:]
    for t,h in ak.grid(T,H):
        o[t,h]=left[t,h]*right[t,h]
        p[:,H:][t,h]=left[t,h]
        p[:,:H][t,h]=right[t,h]
""",
        ROWS,
    ),
    "all rows but the first": (
        """\
def k(x: ak.In[ak.f32,T+1,H], o: ak.Out[ak.f32,T,H]):
    later=x[1:]
    for t in ak.grid(T):
        o[t,:]=later[t,:]-x[t,:]
""",
        ROWS,
    ),
    "one column of several, and an axis added": (
        """\
def k(x: ak.In[ak.i32,T,3,H], o: ak.Out[ak.i32,T,1,H]):
    middle=x[:,1]
    for t,h in ak.grid(T,H):
        o[:,0][t,h]=middle[t,h]+x[:,None,2][t,0,h]
""",
        ROWS,
    ),
    "bits as wider and narrower elements": (
        """\
def k(x: ak.In[ak.bf16,T,2*H], y: ak.In[ak.i64,T,H], o: ak.Out[ak.u32,T,H], p: ak.Out[ak.u64,T,H], q: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        o[t,:]=x.bitcast(ak.u32)[t,:]
        p.bitcast(ak.i64)[t,:]=y[t,:]
        q.bitcast(ak.u8)[t,:]=x.bitcast(ak.u8)[t,:]
""",
        ROWS,
    ),
    "written by rows, then read and changed as one row": (
        """\
def k(x: ak.In[ak.f32,T,H], i: ak.In[ak.i32,T].values(-1,T*H).distinct(ignore=-1), o: ak.Out[ak.f32,T,H], c: ak.Out[ak.i32,T]):
    s=ak.scratch((T,H),ak.f32)
    for t in ak.grid(T):
        s[t,:]=x[t,:]*2.0
        o[t,:]=0.0
    for t in ak.grid(T):
        v=ak.load(s.reshape(T*H)[i[t]],where=i[t]>=0,fill=-1.5)
        ak.store(o.reshape(T*H)[i[t]],v,where=i[t]>=0)
        c[t]=i[t]
""",
        ROWS,
    ),
    "written as one row, read by rows": (
        """\
def k(x: ak.In[ak.f32,T*H], o: ak.Out[ak.f32,T]):
    s=ak.scratch((T*H,),ak.f32)
    for n in ak.grid(T*H):
        s[n]=x[n]+1.0
    for t in ak.grid(T):
        o[t]=ak.sum(s.reshape(T,H)[t,:],axis=1)
""",
        ROWS,
    ),
    "windows and steps on a view": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T*H], r: ak.Out[ak.f32,H]):
    flat=x.reshape(T*H)
    for n in ak.grid(T*H):
        o[n]=flat[n]-ak.load(flat[n-1],fill=0)
    for h in ak.grid(H):
        acc=ak.zeros((h,),ak.f32)
        for t in ak.steps(T,block=16):
            acc=acc+ak.sum(x.T[h,t],axis=1)
        r[h]=acc
""",
        ROWS,
    ),
    "its own elements in place": (
        """\
def k(x: ak.InOut[ak.f32,T,H], y: ak.InOut[ak.i32,T,H]):
    flat=x.reshape(T*H)
    for n in ak.grid(T*H):
        flat[n]=flat[n]*2.0+1.0
    for n in ak.grid(T*H):
        ak.atomic_add(y.reshape(T*H)[n//2],1)
""".replace("[n//2]", "[n.index//2]"),
        ROWS,
    ),
    "a long row read by chunks": (
        """\
def k(x: ak.In[ak.f32,T,2,H], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        o[t]=ak.sum(x.reshape(T,2*H)[t,:],axis=1)+ak.max(x[:,1][t,:],axis=1)
""",
        [({"H": 9001}, {"T": 3}), ({"H": 7}, {"T": 5})],
    ),
    "strides that are prescribed, with gaps and turned": (
        """\
def k(x: ak.In[ak.bf16,T,H].strides(ak.align(H,8)+8,1).aligned(16), y: ak.In[ak.f32,T,H].strides(1,ak.align(T,4)), o: ak.Out[ak.f32,T,2,H].strides(2*H,H,1), p: ak.Out[ak.f32,H,T].strides(2,2*H)):
    for t in ak.grid(T):
        o[t,0,:]=x[t,:].to(ak.f32)
        o[:,1][t,:]=x[:,H//2:][t,0,None].to(ak.f32)+y[t,:]
    for h,t in ak.grid(H,T):
        p[h,t]=x.T[h,t].to(ak.f32)*y.T[h,t]
""",
        ROWS,
    ),
    "a view of an optional tensor": (
        """\
def k(x: ak.In[ak.f32,T,H], w: ak.In[ak.f32,T,H]|None, o: ak.Out[ak.f32,T*H]):
    for n in ak.grid(T*H):
        v=x.reshape(T*H)[n]
        if w is not None:
            v=v*w.reshape(T*H)[n]
        o[n]=v
""",
        ROWS,
    ),
}
CASES = [(name, statics, sizes) for name, (_, cases) in KERNELS.items() for statics, sizes in cases]


@pytest.mark.parametrize(
    ("name", "statics", "sizes"), CASES, ids=[f"{n} {'-'.join(map(str, (s | z).values()))}" for n, s, z in CASES]
)
def test_interpreter_and_simulator_agree(name: str, statics: Sizes, sizes: Sizes, simulator_cache: Path):
    assert not disagreements(KERNELS[name][0], statics, sizes, ("random", "special"), 2, simulator_cache)
