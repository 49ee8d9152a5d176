"""A clamped SwiGLU gate over interleaved columns, in bf16."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def swiglu_clamp(
    x: ak.In[ak.bf16, T, 2 * H],
    out: ak.Out[ak.bf16, T, H],
    alpha: ak.f32 = 1.702,
    limit: ak.f32 = 7.0,
):
    """Gate T rows whose even columns are gates g and whose odd ones are values u: g * sigmoid(alpha * g) * (u + 1)."""
    pairs = x.reshape(T, H, 2)
    for t in ak.grid(T):
        gate = ak.minimum(pairs[t, :, 0].to(ak.f32), limit)
        up = ak.clip(pairs[t, :, 1].to(ak.f32), -limit, limit)
        out[t, :] = (gate * ak.sigmoid(alpha * gate) * (up + 1.0)).to(ak.bf16)
