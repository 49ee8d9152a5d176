"""Right kernels that habits are tried on. Kernel text: it is read, never run."""

import agentkern as ak

T, S, P, E, X = ak.dim("T"), ak.dim("S"), ak.dim("P"), ak.dim("E"), ak.dim("X")
H = ak.static("H", min=1, max=4096)
EPS = 1e-6


@ak.kernel
def bias_relu(x: ak.In[ak.bf16, T, H], bias: ak.In[ak.bf16, H], out: ak.Out[ak.bf16, T, H]):
    for t, h in ak.grid(T, H):
        v = x[t, h].to(ak.f32) + bias[h].to(ak.f32)
        out[t, h] = ak.maximum(v, 0.0).to(ak.bf16)


@ak.kernel
def mixed(a: ak.In[ak.f32, T, H], b: ak.In[ak.f32, T, H], keep: ak.In[ak.bool, T], out: ak.Out[ak.f32, T, H]):
    for t, h in ak.grid(T, H):
        both = (a[t, h] > 0) & (b[t, h] > 0)
        out[t, h] = ak.where(both & keep[t][:, None], a[t, h] * b[t, h] + 1.0, b[t, h] / 2.0)


@ak.kernel
def counted(n: ak.In[ak.i32, T, H], d: ak.In[ak.i32, T], out: ak.Out[ak.i32, T, H]):
    for t, h in ak.grid(T, H):
        out[t, h] = n[t, h] // ak.maximum(d[t], 1)[:, None]


@ak.kernel
def rms_norm(x: ak.In[ak.bf16, T, H], w: ak.In[ak.bf16, H], out: ak.Out[ak.bf16, T, H], eps: ak.f32 = 1e-6):
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        scale = ak.rsqrt(ak.mean(row * row, axis=1, keepdims=True) + eps)
        out[t, :] = (row * scale * w[:].to(ak.f32)).to(ak.bf16)


@ak.kernel
def deviations(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        row = x[t, :]
        d = row - ak.mean(row, axis=1, keepdims=True)
        out[t] = ak.sqrt(ak.mean(d * d, axis=1))


@ak.kernel
def softmax(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.bf16, T, H]):
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        e = ak.exp(row - ak.max(row, axis=1, keepdims=True))
        out[t, :] = (e / ak.sum(e, axis=1, keepdims=True)).to(ak.bf16)


@ak.kernel
def masked_softmax(x: ak.In[ak.f32, T, H], keep: ak.In[ak.bool, T, H], out: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        v = ak.where(keep[t, :], x[t, :], -ak.inf)
        top = ak.max(v, axis=1, keepdims=True)
        e = ak.exp(v - ak.where(top > -ak.inf, top, 0.0))
        out[t, :] = ak.where(keep[t, :], e / ak.sum(e, axis=1, keepdims=True), 0.0)


@ak.kernel
def picked(x: ak.In[ak.f32, T, H], at: ak.In[ak.i64, T].values(0, H, ignore=-100), out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        k = at[t]
        out[t] = ak.load(x[t.index, k], where=k >= 0, fill=0)


@ak.kernel
def gathered(table: ak.In[ak.bf16, S, H], ids: ak.In[ak.i32, T].values(0, S), out: ak.Out[ak.bf16, T, H]):
    for t, h in ak.grid(T, H):
        out[t, h] = table[ids[t], h]


@ak.kernel
def scattered(
    x: ak.In[ak.f32, T, H],
    slot: ak.In[ak.i32, T].values(0, P, ignore=-1).distinct(ignore=-1),
    out: ak.Out[ak.f32, P, H],
):
    for p, h in ak.grid(P, H):
        out[p, h] = ak.zeros((p, h), ak.f32)
    for t, h in ak.grid(T, H):
        s = slot[t]
        ak.store(out[s, h], x[t, h], where=(s >= 0)[:, None])


@ak.kernel
def histogram(ids: ak.In[ak.i32, T].values(0, S), out: ak.Out[ak.i32, S]):
    for s in ak.grid(S):
        out[s] = ak.zeros((s,), ak.i32)
    for t in ak.grid(T):
        ak.atomic_add(out[ids[t]], 1)


@ak.kernel
def to_fp8(x: ak.In[ak.bf16, T, H], q: ak.Out[ak.e4m3, T, H], scale: ak.Out[ak.f32, T, ak.cdiv(H, 8)]):
    for t, h in ak.grid(T, H, block=(None, 8)):
        v = x[t, h].to(ak.f32)
        s = ak.maximum(ak.absmax(v, axis=1), 1e-4) / 448.0
        q[t, h] = (v / s[:, None]).to(ak.e4m3)
        scale[t, h.ordinal] = s


@ak.kernel
def to_int8(x: ak.In[ak.f32, T, H], q: ak.Out[ak.i8, T, H]):
    for t, h in ak.grid(T, H):
        q[t, h] = ak.clip(ak.round(x[t, h] * 16.0), -127.0, 127.0).to(ak.i8)


@ak.kernel
def running(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        out[t, :] = ak.cumsum(x[t, :].to(ak.f32), axis=1)


@ak.kernel
def recurrence(a: ak.In[ak.f32, T, H], b: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H]):
    for h in ak.grid(H):
        s = ak.zeros((h,), ak.f32)
        for t in ak.steps(ak.each(T)):
            s = a[t, h] * s + b[t, h]
            out[t, h] = s


@ak.kernel
def filtered(x: ak.In[ak.f32, T, X], w: ak.In[ak.f32, 3], out: ak.Out[ak.f32, T, X]):
    for t, i in ak.grid(T, X):
        acc = ak.zeros((t, i), ak.f32)
        for k in range(3):
            acc += ak.load(x[t, i + k - 1], fill=0) * w[k]
        out[t, i] = acc


@ak.kernel
def halved(x: ak.In[ak.f32, T, 2 * X], out: ak.Out[ak.f32, T, X]):
    for t, i in ak.grid(T, X):
        out[t, i] = ak.maximum(x[t, 2 * i], x[t, 2 * i + 1])


@ak.kernel
def column_sums(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.f32, H]):
    part = ak.scratch((8, H), ak.f32)
    for p, h in ak.grid(ak.parts(T, 8), H):
        part[p.ordinal, h] = ak.sum(x[p, h].to(ak.f32), axis=0)
    for h in ak.grid(H):
        out[h] = ak.sum(part[:, h], axis=0)


@ak.kernel
def best(x: ak.In[ak.f32, T, 4 + H], value: ak.Out[ak.f32, T, 4], column: ak.Out[ak.i64, T, 4]):
    for t in ak.grid(T):
        v, i = ak.topk(x[t, :], 4, axis=1)
        value[t, :] = v
        column[t, :] = i


@ak.kernel
def largest(x: ak.In[ak.f32, T, H], out: ak.Out[ak.i64, T]):
    for t in ak.grid(T):
        out[t] = ak.argmax(x[t, :], axis=1)


@ak.kernel
def turned(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, H, T]):
    for t, h in ak.grid(T, H):
        out[h, t] = x[t, h].T


@ak.kernel
def backwards(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H]):
    for t, h in ak.grid(T, H):
        out[t, h] = x[t, H - 1 - h.index]


@ak.kernel
def pairs(x: ak.In[ak.f32, T, 2 * H], out: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        p = x[t, :].reshape(t, H, 2)
        out[t, :] = p[:, :, 0] * p[:, :, 1]


@ak.kernel
def segment_sums(x: ak.In[ak.f32, T, H], offsets: ak.In[ak.i32, E + 1].offsets(T), out: ak.Out[ak.f32, E, H]):
    for s, h in ak.grid(ak.segments(offsets), H):
        out[s.ordinal, h] = ak.sum(x[s, h], axis=0)


@ak.kernel
def in_place(p: ak.InOut[ak.f32, T, H], g: ak.In[ak.f32, T, H], rate: ak.f32 = 0.5):
    for t, h in ak.grid(T, H):
        p[t, h] = p[t, h] - rate * g[t, h]
