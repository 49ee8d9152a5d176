"""Small kernel texts that tests of the tools share."""

RMS_NORM = """\
import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def rms_norm(x: ak.In[ak.bf16, T, H], weight: ak.In[ak.bf16, H], out: ak.Out[ak.bf16, T, H], eps: ak.f32 = 1e-6):
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        scale = ak.rsqrt(ak.sum(row * row, axis=1, keepdims=True) / H + eps)
        out[t, :] = (row * scale * weight[:].to(ak.f32)).to(ak.bf16)
"""

# One letter is missing; the fix puts it back.
BROKEN = RMS_NORM.replace("ak.rsqrt", "ak.rsqr")

ADD = """\
import agentkern as ak

N = ak.dim("N")


@ak.kernel
def add(a: ak.In[ak.f32, N], b: ak.In[ak.f32, N], out: ak.Out[ak.f32, N], scale: ak.f32 = 1.0):
    for n in ak.grid(N):
        out[n] = (a[n] + b[n]) * scale
"""

ROWS = """\
import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")


@ak.kernel
def double_rows(x: ak.In[ak.bf16, T, N], out: ak.Out[ak.bf16, T, N]):
    for t, n in ak.grid(T, N):
        out[t, n] = x[t, n] * 2
"""

LISTS = """\
import agentkern as ak

T, L = ak.dim("T"), ak.static("L")


@ak.kernel
def chain(
    x: ak.In[ak.f32, T],
    scales: ak.List[ak.In[ak.f32, T], L],
    steps: ak.List[ak.Out[ak.f32, T], L],
    total: ak.Out[ak.f32, T],
):
    for t in ak.grid(T):
        y = x[t]
        for n in range(L):
            y = y * scales[n][t]
            steps[n][t] = y
        total[t] = y
"""

RECORDS = """\
import agentkern as ak

T = ak.dim("T")
KV = ak.Record(nope=(ak.e4m3, 16), scale=ak.f32, rope=(ak.bf16, 3))


@ak.kernel
def scaled(kv: ak.In[KV, T], out: ak.Out[KV, T]):
    for t in ak.grid(T):
        out[t].nope = kv[t].nope
        out[t].scale = kv[t].scale * 2.0
        out[t].rope = kv[t].rope
"""
