"""Kernels that tests call as functions."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")
KV = ak.Record(nope=(ak.e4m3, 16), scale=ak.f32, rope=(ak.bf16, 3))


@ak.kernel
def scale_rows(x: ak.In[ak.f32, T, H], factor: ak.f32, out: ak.Out[ak.f32, T, H], bias: ak.f32 = 0.0):
    for t in ak.grid(T):
        out[t, :] = x[t, :] * factor + bias


@ak.kernel
def widen(x: ak.In[ak.bf16, T], wide: ak.Out[ak.f32, T], negative: ak.Out[ak.bool, T]):
    for t in ak.grid(T):
        wide[t] = x[t].to(ak.f32)
        negative[t] = x[t] < 0.0


@ak.kernel
def power(x: ak.In[ak.f32, T], out: ak.Out[ak.f32, T], squared: ak.static_bool = False):
    for t in ak.grid(T):
        out[t] = x[t] * x[t] if squared else x[t]


@ak.kernel
def past_the_edge(x: ak.In[ak.f32, T], out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        out[t] = x[t] + missing  # noqa: F821 - what the test is about


@ak.kernel
def shares_of_rows(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H]):
    totals = ak.scratch((T,), ak.f32)
    for t in ak.grid(T):
        totals[t] = ak.sum(x[t, :], axis=1)
    for t in ak.grid(T):
        out[t, :] = x[t, :] / totals[t, None]


@ak.kernel
def accumulate(total: ak.InOut[ak.f32, T], x: ak.In[ak.f32, T]):
    for t in ak.grid(T):
        total[t] = total[t] + x[t]


@ak.kernel
def masked(
    x: ak.In[ak.f32, T], mask: ak.In[ak.bool, T] | None, out: ak.Out[ak.f32, T], total: ak.Out[ak.f32, 1] | None
):
    for t in ak.grid(T):
        out[t] = x[t] if mask is None else ak.where(mask[t], x[t], 0.0)
    if total is not None:
        for _ in ak.grid():
            total[0] = ak.sum(out[:], axis=0)


@ak.kernel
def layers(
    x: ak.In[ak.f32, T],
    scales: ak.List[ak.In[ak.f32, T], H],
    bias: ak.f32,
    outs: ak.List[ak.Out[ak.f32, T], H],
    total: ak.Out[ak.f32, T],
):
    for t in ak.grid(T):
        y = x[t]
        for n in range(H):
            y = y * scales[n][t] + bias
            outs[n][t] = y
        total[t] = y


@ak.kernel
def append(x: ak.In[ak.f32, T, 16], r: ak.In[ak.bf16, T, 3], kv: ak.Out[KV, T]):
    for t in ak.grid(T):
        top = ak.absmax(x[t, :], axis=1)
        scale = ak.where(top > 0, top / 448.0, 1.0)
        kv[t].nope = (x[t, :] / scale[:, None]).to(ak.e4m3)
        kv[t].scale = scale
        kv[t].rope = r[t, :]


@ak.kernel
def look_up(kv: ak.In[KV, T], out: ak.Out[ak.f32, T, 16], r: ak.Out[ak.bf16, T, 3]):
    for t in ak.grid(T):
        out[t, :] = kv[t].nope.to(ak.f32) * kv[t].scale[:, None]
        r[t, :] = kv[t].rope


@ak.kernel
def rescaled(kv: ak.In[KV, T], out: ak.Out[KV, T]):
    for t in ak.grid(T):
        out[t].nope = kv[t].nope
        out[t].scale = kv[t].scale * 2.0
        out[t].rope = kv[t].rope


@ak.kernel
def crossed(kv: ak.In[KV, T], out: ak.Out[KV, T]):
    for t in ak.grid(T):
        out[t].scale = kv[t].scale * 2.0
        out[t].nope = kv[t].scale[:, None].to(ak.e4m3)
        out[t].rope = kv[t].rope


@ak.kernel
def gathered(rows: ak.In[ak.i32, T].values(0, H), x: ak.In[ak.f32, H], out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        out[t] = x[rows[t]]


@ak.kernel
def checked(rows: ak.In[ak.i32, T], x: ak.In[ak.f32, H], out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        row = rows[t]
        ak.require((row >= 0) & (row < H), "every row is one of x")
        out[t] = x[row]


@ak.kernel
def chosen(
    which: ak.In[ak.i32, T].values(0, H),
    tables: ak.List[ak.In[ak.f32, T, 3], H],
    kept: ak.List[ak.InOut[ak.f32, T], H],
    sums: ak.List[ak.Out[ak.f32, T], H],
):
    for t in ak.grid(ak.each(T)):
        kept[which[t]][t] += ak.sum(tables[which[t]][t, :], axis=0)
    for i, t in ak.grid(ak.each(H), T):
        sums[i][t] = kept[i][t]
