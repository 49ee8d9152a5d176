"""A gated memory over four streams."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H", min=1)


@ak.kernel
def engram_gate(
    x: ak.In[ak.bf16, T, 4, H],
    k: ak.In[ak.bf16, T, 4, H],
    v: ak.In[ak.bf16, T, H],
    w: ak.In[ak.f32, 4, H],
    out: ak.Out[ak.bf16, T, 4, H],
    eps: ak.f32,
    clamp: ak.f32,
):
    """Add v to each stream, gated by how well x and k agree."""
    for t in ak.grid(T):
        xt, kt = x[t, :, :].to(ak.f32), k[t, :, :].to(ak.f32)
        dot = ak.sum(xt * w[:, :] * kt, axis=2)
        rx = ak.rsqrt(ak.sum(xt * xt, axis=2) / H + eps)
        rk = ak.rsqrt(ak.sum(kt * kt, axis=2) / H + eps)
        size = ak.sqrt(ak.maximum(ak.abs(dot * rx * rk * H**-0.5), clamp))
        gate = ak.sigmoid(ak.copysign(size, dot))
        out[t, :, :] = (xt + gate[:, :, None] * v[t, :].to(ak.f32)[:, None, :]).to(ak.bf16)
