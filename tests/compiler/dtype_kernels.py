"""Kernels over every element type: casts between all of them, and every operation of f64. Data only."""

from agentkern.dsl.dtypes import DTYPES

NAMES = tuple(DTYPES)
SMALL = tuple(name for name, dtype in DTYPES.items() if dtype.bits <= 16)
SMALL_FLOATS = tuple(name for name in SMALL if DTYPES[name].is_float)
SATURATING = ("e4m3", "e5m2", "e8m0")


def casts(source: str, targets: tuple[str, ...], extra: str = "") -> str:
    """One input, one output for each target."""
    outs = "".join(f", o_{t}: ak.Out[ak.{t},N]" for t in targets)
    lines = "".join(f"        o_{t}[n]=v.to(ak.{t}{extra})\n" for t in targets)
    return f"def k(x: ak.In[ak.{source},N]{outs}):\n    for n in ak.grid(N):\n        v=x[n]\n{lines}"


_ELEMENTS = (
    *("a+e", "a-e", "a*e", "a/e", "ak.fma(a,e,f)", "ak.sqrt(a)", "ak.rsqrt(a)", "ak.maximum(a,e)", "ak.minimum(a,e)"),
    *(
        "-a",
        "ak.abs(a)",
        "ak.sign(a)",
        "ak.floor(a)",
        "ak.ceil(a)",
        "ak.round(a)",
        "ak.trunc(a)",
        "ak.clip(f,-1.0,0.5)",
    ),
    *("ak.copysign(a,e)*s", "ak.where(a<e,-f,a+0.1)", "1e300*a*e", "5e-324+a", "a**3", "ak.where(a==a,a,ak.nan)"),
)
_FLAGS = ("ak.isnan(a)|(a<=e)", "ak.isinf(a)&(a!=e)", "(a==e)|(a>=f)", "a>f")
ELEMENTS = (
    "def k(x: ak.In[ak.f64,N], y: ak.In[ak.f64,N], z: ak.In[ak.f64,N]"
    + "".join(f", o{i}: ak.Out[ak.f64,N]" for i in range(len(_ELEMENTS)))
    + "".join(f", b{i}: ak.Out[ak.bool,N]" for i in range(len(_FLAGS)))
    + ", s: ak.f64 = 0.1):\n    for n in ak.grid(N):\n        a=x[n]\n        e=y[n]\n        f=z[n]\n"
    + "".join(f"        o{i}[n]={text}\n" for i, text in enumerate(_ELEMENTS))
    + "".join(f"        b{i}[n]={text}\n" for i, text in enumerate(_FLAGS))
)

_ROWS = ("sum", "prod", "mean", "max", "min", "absmax")
REDUCTIONS = (
    "def k(x: ak.In[ak.f64,T,H]"
    + "".join(f", {name}_: ak.Out[ak.f64,T]" for name in _ROWS)
    + ", at: ak.Out[ak.i64,T], least: ak.Out[ak.i64,T], bits: ak.Out[ak.u64,T], share: ak.Out[ak.f64,T,H]"
    + ", columns: ak.Out[ak.f64,H]):\n    for t in ak.grid(T):\n        v=x[t,:]\n"
    + "".join(f"        {name}_[t]=ak.{name}(v,axis=1)\n" for name in _ROWS)
    + """\
        at[t]=ak.argmax(v,axis=1)
        least[t]=ak.argmin(v,axis=1)
        bits[t]=ak.sum(v*v,axis=1).bitcast(ak.u64)
        share[t,:]=v/ak.sum(v,axis=1,keepdims=True)
    for h in ak.grid(H):
        columns[h]=ak.sum(x[:,h],axis=0)
"""
)
LONG_SUM = """\
def k(x: ak.In[ak.f64,T,N], o: ak.Out[ak.f64,T,N], p: ak.Out[ak.f64,T]):
    for t in ak.grid(T):
        o[t,:]=x[t,:]/ak.sum(x[t,:],axis=1,keepdims=True)
        p[t]=ak.mean(x[t,:]*x[t,:],axis=1)
"""
SCANS = """\
def k(x: ak.In[ak.f64,T,H], c: ak.Out[ak.f64,T,H], d: ak.Out[ak.f64,T,H], m: ak.Out[ak.f64,T,H]):
    for t in ak.grid(T):
        v=x[t,:]
        c[t,:]=ak.cumsum(v,axis=1)
        d[t,:]=ak.cumsum(v,axis=1,reverse=True,exclusive=True)
        m[t,:]=ak.cummax(v,axis=1,reverse=True)
"""
ORDER = """\
def k(x: ak.In[ak.f64,T,H], s: ak.Out[ak.f64,T,H], v: ak.Out[ak.f64,T,G], i: ak.Out[ak.i64,T,G], o: ak.Out[ak.i32,T,H]):
    for t in ak.grid(T):
        r=x[t,:]
        s[t,:]=ak.sort(r,axis=1)
        v[t,:],i[t,:]=ak.topk(r,G,axis=1)
        o[t,:]=ak.occurrence(r,axis=1)
"""
LOOP = """\
def k(x: ak.In[ak.f64,N,M], o: ak.Out[ak.f64,M], p: ak.Out[ak.f64,M]):
    for m in ak.grid(M):
        acc=ak.zeros((m,),ak.f64)
        top=ak.full((m,),-ak.inf,ak.f64)
        for n in ak.steps(N,block=32):
            acc=acc*0.5+ak.sum(x[n,m],axis=0)
            top=ak.maximum(top,ak.max(x[n,m],axis=0))
        o[m]=acc
        p[m]=top
"""
DOUBLES: dict[str, tuple[str, list[tuple[dict[str, int], dict[str, int]]]]] = {
    "elements": (ELEMENTS, [({}, {"N": 0}), ({}, {"N": 1}), ({}, {"N": 3001})]),
    "reductions": (REDUCTIONS, [({"H": h}, {"T": t}) for h, t in ((1, 3), (5, 7), (1500, 3))]),
    "long_sum": (LONG_SUM, [({}, {"T": 3, "N": n}) for n in (0, 20000)]),
    "scans": (SCANS, [({"H": h}, {"T": 5}) for h in (1, 200, 3000)]),
    "order": (ORDER, [({"H": h, "G": g}, {"T": 7}) for h, g in ((5, 3), (40, 8))]),
    "loop": (LOOP, [({}, {"N": 0, "M": 5}), ({}, {"N": 100, "M": 5}), ({}, {"N": 64, "M": 130})]),
}
