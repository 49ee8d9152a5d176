"""Add to a residual stream in place and normalise the sum."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def fused_add_rms_norm(
    x: ak.In[ak.bf16, T, H],
    residual: ak.InOut[ak.bf16, T, H],
    weight: ak.In[ak.bf16, H],
    out: ak.Out[ak.bf16, T, H],
    eps: ak.f32 = 1e-6,
):
    """Add x to residual (T, H) in place; give the new rows divided by their root mean squares, times weight (H)."""
    for t in ak.grid(T):
        total = (residual[t, :].to(ak.f32) + x[t, :].to(ak.f32)).to(ak.bf16)
        residual[t, :] = total
        row = total.to(ak.f32)
        scale = ak.rsqrt(ak.mean(row * row, axis=1, keepdims=True) + eps)
        out[t, :] = (row * scale * weight[:].to(ak.f32)).to(ak.bf16)
