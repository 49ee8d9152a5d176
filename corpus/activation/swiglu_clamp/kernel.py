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
    for t, h in ak.grid(T, H):
        pair = x.reshape(T, H, 2)[t, h, :].to(ak.f32)
        gate = ak.minimum(pair[:, :, 0], limit)
        up = ak.clip(pair[:, :, 1], -limit, limit)
        out[t, h] = (gate * ak.sigmoid(alpha * gate) * (up + 1.0)).to(ak.bf16)
