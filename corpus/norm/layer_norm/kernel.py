"""Layer norm over rows of bf16."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def layer_norm(
    x: ak.In[ak.bf16, T, H],
    weight: ak.In[ak.bf16, H],
    bias: ak.In[ak.bf16, H],
    out: ak.Out[ak.bf16, T, H],
    eps: ak.f32 = 1e-5,
):
    """Bring each of T rows of H elements to mean 0 and variance 1, then scale by weight (H) and add bias (H)."""
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        centred = row - ak.mean(row, axis=1, keepdims=True)
        scale = ak.rsqrt(ak.mean(centred * centred, axis=1, keepdims=True) + eps)
        out[t, :] = (centred * scale * weight[:].to(ak.f32) + bias[:].to(ak.f32)).to(ak.bf16)
