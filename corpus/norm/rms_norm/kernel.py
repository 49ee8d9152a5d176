"""Root-mean-square norm over rows of bf16."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def rms_norm(x: ak.In[ak.bf16, T, H], weight: ak.In[ak.bf16, H], out: ak.Out[ak.bf16, T, H], eps: ak.f32 = 1e-6):
    """Divide each of T rows of H elements by its root mean square, then scale by weight (H)."""
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        scale = ak.rsqrt(ak.sum(row * row, axis=1, keepdims=True) / H + eps)
        out[t, :] = (row * scale * weight[:].to(ak.f32)).to(ak.bf16)
