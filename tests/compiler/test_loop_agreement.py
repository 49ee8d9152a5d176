"""Interpreter and simulator agree bit for bit over loops in order: carried values, bounds, stores, free blocks."""

from pathlib import Path

import pytest

from tests.compiler.agreement import disagreements

Sizes = dict[str, int]

KERNELS: dict[str, tuple[str, list[tuple[Sizes, Sizes]]]] = {
    "running_sum": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        acc=ak.zeros((t,),ak.f32)
        for k in ak.steps(N, block=64):
            acc = acc + ak.sum(x[t,k],axis=1)
        o[t]=acc
""",
        [({}, {"T": 3, "N": n}) for n in (0, 64, 200)],
    ),
    "linear_scan": (
        """\
def k(a: ak.In[ak.f32,N,H], b: ak.In[ak.f32,N,H], o: ak.Out[ak.f32,N,H], z: ak.Out[ak.f32,H]):
    for h in ak.grid(H):
        s=ak.zeros((h,),ak.f32)
        for t in ak.steps(ak.each(N)):
            s = a[t,h]*s + b[t,h]
            o[t,h]=s
        z[h]=s
""",
        [({"H": h}, {"N": n}) for h, n in ((5, 0), (300, 17))],
    ),
    "online_softmax": (
        """\
def k(x: ak.In[ak.bf16,T,N], o: ak.Out[ak.f32,T,N], l: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        top=ak.full((t,),-ak.inf,ak.f32)
        total=ak.zeros((t,),ak.f32)
        for c in ak.steps(N, block=128):
            v=x[t,c].to(ak.f32)
            new=ak.maximum(top, ak.max(v,axis=1))
            safe=ak.where(new>-ak.inf,new,0.0)
            total=total*ak.exp(top-safe)+ak.sum(ak.exp(v-safe[:,None]),axis=1)
            top=new
        l[t]=ak.log(total)+top
        for c in ak.steps(N):
            o[t,c]=ak.exp(x[t,c].to(ak.f32)-top[:,None])/total[:,None]
""",
        [({}, {"T": t, "N": n}) for t, n in ((3, 0), (3, 1), (2, 300))],
    ),
    "free_max_and_count": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T], c: ak.Out[ak.i32,T]):
    for t in ak.grid(T):
        m=ak.full((t,),-ak.inf,ak.f32)
        n=ak.zeros((t,),ak.i32)
        for k in ak.steps(N):
            m = ak.maximum(m, ak.max(x[t,k],axis=1))
            n = n + ak.sum(x[t,k]>0,axis=1)
        o[t]=m
        c[t]=n
""",
        [({}, {"T": 3, "N": n}) for n in (0, 200)],
    ),
    "static_bounds": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        acc=ak.zeros((t,),ak.f32)
        for k in ak.steps(1, H, block=16):
            acc = acc*0.5 + ak.sum(x[t,k]*k.index[None,:].to(ak.f32),axis=1)
        o[t]=acc
        for k in ak.steps(H, block=8):
            p[t,k]=x[t,k]*(k.ordinal*100+k.end-k.start).to(ak.f32)
""",
        [({"H": h}, {"T": 5}) for h in (1, 18, 32)],
    ),
    "swap_and_rotate": (
        """\
def k(x: ak.In[ak.f32,N,H], o: ak.Out[ak.f32,H], p: ak.Out[ak.f32,H]):
    for h in ak.grid(H):
        a=ak.zeros((h,),ak.f32)
        b=ak.full((h,),1.0,ak.f32)
        pair=(a, b)
        for t in ak.steps(ak.each(N)):
            a, b = b, a + x[t,h]
            pair = (pair[1], pair[0] * 2.0 + a)
        o[h]=a-b
        p[h]=pair[0]+pair[1]
""",
        [({"H": h}, {"N": n}) for h, n in ((5, 0), (70, 8))],
    ),
    "nested": (
        """\
def k(x: ak.In[ak.f32,B,N,H], o: ak.Out[ak.f32,H], c: ak.Out[ak.i32,H]):
    for h in ak.grid(H):
        acc=ak.zeros((h,),ak.f32)
        n=ak.zeros((h,),ak.i32)
        for b in ak.steps(ak.each(B)):
            part=ak.zeros((h,),ak.f32)
            for k in ak.steps(b, N, block=4):
                part = part + ak.sum(x[b,k,h],axis=0)
            acc = acc*0.5 + part
        for b in ak.steps(B):
            for k in ak.steps(N):
                n = n + ak.sum(x[b,k,h]>0,axis=(0,1))
        o[h]=acc
        c[h]=n
""",
        [({"H": h}, {"B": b, "N": n}) for h, b, n in ((5, 3, 0), (40, 3, 9))],
    ),
    "loaded_bounds": (
        """\
def k(x: ak.In[ak.f32,T,N], lo: ak.In[ak.i32,T], hi: ak.In[ak.i64,T], o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,T]):
    for t in ak.grid(ak.each(T)):
        top=ak.full((),-ak.inf,ak.f32)
        acc=ak.zeros((),ak.f32)
        for k in ak.steps(ak.maximum(lo[t],0), ak.minimum(hi[t],N)):
            top=ak.maximum(top,ak.max(x[t,k],axis=0))
        for k in ak.steps(ak.maximum(lo[t],0), ak.minimum(hi[t],N), block=16):
            acc=acc*0.5+ak.sum(x[t,k],axis=0)
        o[t]=top
        p[t]=acc
""",
        [({}, {"T": 9, "N": 40})],
    ),
    "a_nan_is_carried_to_where_it_shows": (
        """\
def k(x: ak.In[ak.f32,N,H], o: ak.Out[ak.f32,H], p: ak.Out[ak.i32,H]):
    for h in ak.grid(H):
        a=ak.zeros((h,),ak.f32)
        b=ak.zeros((h,),ak.f32)
        for t in ak.steps(ak.each(N)):
            a, b = -b, ak.where(x[t,h]>0, ak.abs(x[t,h]), a)
        o[h]=a
        p[h]=b.bitcast(ak.i32)
""",
        [({"H": 40}, {"N": 7})],
    ),
    "after_a_streamed_row": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        s=ak.sum(x[t,:],axis=1)
        for k in ak.steps(ak.each(3)):
            s=s*2.0+1.0
        o[t,:]=s[:,None]
""",
        [({"H": 9}, {"T": 2, "N": 70})],
    ),
    "rows_run_until_and_since": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,T,4]):
    for t in ak.grid(T):
        acc=ak.zeros((t,),ak.f32)
        wide=ak.zeros((t,4),ak.f32)
        for k in ak.steps(N, block=8, until=t.index + 1, since=t.index // 2):
            v=ak.where(k.index[None,:]<=t.index[:,None], x[t,k], 0.0)
            acc=acc*0.5+ak.sum(v,axis=1)
            wide=wide*0.5+ak.max(v,axis=1)[:,None]
        o[t]=acc
        p[t,:]=wide
""",
        [({}, {"T": t, "N": n}) for t, n in ((1, 1), (50, 60), (3, 0))],
    ),
    "a_limit_for_all_rows": (
        """\
def k(x: ak.In[ak.f32,T,N], n: ak.In[ak.i32,T], o: ak.Out[ak.f32,T], c: ak.Out[ak.i32,T]):
    for t in ak.grid(ak.each(T)):
        acc=ak.zeros((),ak.f32)
        count=ak.zeros((),ak.i32)
        for k in ak.steps(N, block=8, until=n[t], since=3):
            acc=acc*0.5+ak.sum(x[t,k],axis=0)
            count=count+1
        o[t]=acc
        c[t]=count
""",
        [({}, {"T": 9, "N": 30})],
    ),
    "a_loop_ends_early": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T], c: ak.Out[ak.i32,T]):
    for t in ak.grid(ak.each(T)):
        acc=ak.zeros((),ak.f32)
        count=ak.zeros((),ak.i32)
        for k in ak.steps(N, block=4):
            acc=acc+ak.sum(ak.abs(x[t,k]),axis=0)
            if acc > 6.0:
                count=count+100
                break
            count=count+1
            if ak.max(x[t,k],axis=0) > 100.0:
                break
            count=count+1
        o[t]=acc
        c[t]=count
""",
        [({}, {"T": 9, "N": n}) for n in (0, 3, 30)],
    ),
    "a_choice_by_a_scalar": (
        """\
def k(x: ak.In[ak.f32,T,H], n: ak.In[ak.i32,T], o: ak.Out[ak.f32,T,H], p: ak.Out[ak.f32,T]):
    for t in ak.grid(ak.each(T)):
        y=x[t,:]
        if n[t] > 0:
            y=y/ak.sum(ak.abs(y),axis=0)
            z=ak.max(y,axis=0)
        elif n[t] < -5:
            z=ak.min(y,axis=0)
            y=y.reshape(2,H//2).T.reshape(H)
        else:
            z=0.0
        o[t,:]=y
        p[t]=z
""",
        [({"H": h}, {"T": 9}) for h in (2, 300)],
    ),
    "a_choice_in_a_loop_skips_stores": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,N], p: ak.Out[ak.f32,T]):
    for t in ak.grid(ak.each(T)):
        s=ak.zeros((),ak.f32)
        for k in ak.steps(ak.each(N)):
            o[t,k]=s
            if x[t,k] > 0.0:
                s=s+x[t,k]
            else:
                s=-s
        p[t]=s
""",
        [({}, {"T": 5, "N": 30})],
    ),
    "elements": (
        """\
def k(x: ak.In[ak.f32,T,48], s: ak.In[ak.f32,T,12], o: ak.Out[ak.f32,T,48]):
    for t in ak.grid(T):
        v, g, p = x[t,:], s[t,:], ak.zeros((t,48),ak.f32)
        top = ak.max(v, axis=1)
        for i, j in ak.elements(t, 48):
            p[i, j] = (v[i, j] - top[i]) * g[i, j // 4] + g[i, j % 12] + v[i, 47 - 47 + j % 24 * 2]
        o[t,:]=p
""",
        [({}, {"T": 7})],
    ),
    "wide_cross_warp": (
        """\
def k(x: ak.In[ak.f32,N,H], o: ak.Out[ak.f32,H]):
    for _ in ak.grid():
        s=ak.zeros((H,),ak.f32)
        for t in ak.steps(ak.each(N)):
            s = (s+x[t,:])/(ak.sum(ak.abs(s),axis=0)+1.0)
        o[:]=s
""",
        [({"H": 600}, {"N": 5})],
    ),
    "dtypes": (
        """\
def k(x: ak.In[ak.bf16,T,N], y: ak.In[ak.i64,T,N], z: ak.In[ak.u8,T,N], o: ak.Out[ak.bf16,T], p: ak.Out[ak.i64,T], q: ak.Out[ak.u8,T], r: ak.Out[ak.bool,T], s: ak.Out[ak.f16,T], w: ak.Out[ak.e4m3,T]):
    for t in ak.grid(T):
        a=ak.zeros((t,),ak.bf16)
        b=ak.zeros((t,),ak.i64)
        c=ak.full((t,),255,ak.u8)
        d=ak.full((t,),False,ak.bool)
        e=ak.zeros((t,),ak.f16)
        g=ak.zeros((t,),ak.e4m3)
        for k in ak.steps(N):
            a=ak.maximum(a, ak.max(x[t,k],axis=1))
            b=b+ak.sum(y[t,k],axis=1)
            c=ak.minimum(c, ak.min(z[t,k],axis=1))
            d=d | ak.any(x[t,k]>0,axis=1)
        for k in ak.steps(ak.each(N)):
            e=(e.to(ak.f32)*0.5+x[t,k].to(ak.f32)).to(ak.f16)
            g=e.to(ak.f32).to(ak.e4m3)
        o[t]=a
        p[t]=b
        q[t]=c
        r[t]=d
        s[t]=e
        w[t]=g
""",
        [({}, {"T": 5, "N": 70})],
    ),
    "transposed_in_loop": (
        """\
def k(x: ak.In[ak.f32,N,16,16], o: ak.Out[ak.f32,16,16]):
    for _ in ak.grid():
        s=ak.zeros((16,16),ak.f32)
        for t in ak.steps(ak.each(N)):
            s = s.T*0.5 + x[t,:,:] + s.reshape(8,32).reshape(16,16)
        o[:,:]=s
""",
        [({}, {"N": 4})],
    ),
    "views_of_outer": (
        """\
def k(x: ak.In[ak.f32,T,H], w: ak.In[ak.f32,H], o: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        r=x[t,:]
        b=w[:][None,:]
        m=ak.max(r,axis=1)
        s=r
        for i in ak.steps(ak.each(3)):
            s = s*b + m[:,None]
            m = m*0.5
        o[t,:]=s+m[:,None]
""",
        [({"H": 40}, {"T": 5})],
    ),
    "each_in_written": (
        """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,H], q: ak.Out[ak.f32, ak.cdiv(T,16), H]):
    for p in ak.grid(T, block=16):
        acc=ak.zeros((H,),ak.f32)
        for t in ak.steps(ak.each(p.start,p.end)):
            acc = acc + x[t,:]
            o[t,:] = acc
        q[p.ordinal,:]=acc
""",
        [({"H": 40}, {"T": 37})],
    ),
    "shifted": (
        """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        a=ak.zeros((t,),ak.f32)
        for k in ak.steps(ak.each(1,N)):
            a = a*x[t,k-1]+x[t,k]
        o[t]=a
        b=ak.zeros((t,),ak.f32)
        for k in ak.steps(1,N,block=8):
            b = b*0.5+ak.sum(x[t,k-1]*ak.load(x[t,k+1],fill=0),axis=1)
        p[t]=b
""",
        [({}, {"T": 5, "N": 21})],
    ),
    "i64_bounds_cross": (
        """\
def k(x: ak.In[ak.f32,T,N], lo: ak.In[ak.i64,T], o: ak.Out[ak.f32,T]):
    for t in ak.grid(ak.each(T)):
        a=ak.zeros((),ak.f32)
        for k in ak.steps(ak.each(ak.maximum(lo[t],0), N)):
            a = a+x[t,k]
            if a > 2.0:
                a = 0.0
        o[t]=a
""",
        [({}, {"T": 5, "N": 9})],
    ),
    "what_a_loop_wrote_is_read_behind_it": (
        """\
def k(x: ak.InOut[ak.f32,T,N], n: ak.In[ak.i32,T], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        s=ak.zeros((t,),ak.f32)
        for k in ak.steps(ak.each(N)):
            s = s+x[t,k]
            x[t,k] = s
        a=ak.zeros((t,),ak.f32)
        for k in ak.steps(N,block=8):
            a = a*0.5+ak.sum(x[t,k],axis=1)
        o[t]=a
""",
        [({}, {"T": 40, "N": 17})],
    ),
    "static_axis_in_free_steps": (
        """\
def k(x: ak.In[ak.bf16,T], o: ak.Out[ak.bf16,T,H]):
    for t in ak.grid(T):
        for h in ak.steps(H):
            ak.store(o[t,h], 0)
            ak.store(o[t,h], x[t][:,None], where=(x[t] > 0)[:,None])
""",
        [({"H": h}, {"T": 5}) for h in (0, 1, 64, 65, 256, 576)],
    ),
    "matrix_rows": (
        """\
def k(x: ak.In[ak.f32,N,4,4], o: ak.Out[ak.f32,N,4,4]):
    for n in ak.grid(N):
        s=x[n,:,:]
        for i in ak.steps(ak.each(5)):
            s = s / (ak.sum(s,axis=1,keepdims=True)*ak.sum(s,axis=2,keepdims=True)+1.0)
        o[n,:,:]=s
""",
        [({}, {"N": n}) for n in (7,)],
    ),
}
CASES = [
    pytest.param(body, statics, sizes, id=f"{name}-{'-'.join(f'{k}{v}' for k, v in {**statics, **sizes}.items())}")
    for name, (body, settings) in KERNELS.items()
    for statics, sizes in settings
]


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_interpreter_and_simulator_agree(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path):
    assert disagreements(body, statics, sizes, ("random", "special"), 2, simulator_cache) == []
