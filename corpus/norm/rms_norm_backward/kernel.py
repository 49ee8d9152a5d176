"""The gradients of a root-mean-square norm: of its rows, and of the weight that all rows share."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")
PARTS = 32  # partial sums over rows: with the columns enough blocks for a large GPU, few enough to add up again


@ak.kernel
def rms_norm_backward(
    x: ak.In[ak.bf16, T, H],
    weight: ak.In[ak.bf16, H],
    dout: ak.In[ak.bf16, T, H],
    dx: ak.Out[ak.bf16, T, H],
    dweight: ak.Out[ak.bf16, H],
    eps: ak.f32 = 1e-6,
):
    """Give the gradients of x (T, H) and weight (H) from that of x / rms(x) * weight."""
    scales = ak.scratch((T,), ak.f32)
    partial = ak.scratch((PARTS, H), ak.f32)
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        scale = ak.rsqrt(ak.mean(row * row, axis=1) + eps)
        normed = row * scale[:, None]
        d = dout[t, :].to(ak.f32) * weight[:].to(ak.f32)
        along = ak.mean(d * normed, axis=1, keepdims=True)
        dx[t, :] = ((d - normed * along) * scale[:, None]).to(ak.bf16)
        scales[t] = scale
    for p, h in ak.grid(ak.parts(T, PARTS), H):
        normed = x[p, h].to(ak.f32) * scales[p][:, None]
        partial[p.ordinal, h] = ak.sum(dout[p, h].to(ak.f32) * normed, axis=0)
    for h in ak.grid(H):
        dweight[h] = ak.sum(partial[:, h], axis=0).to(ak.bf16)
