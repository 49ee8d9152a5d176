"""Attention over rows of scalars."""

import agentkern as ak

B, S = ak.dim("B"), ak.static("S")


@ak.kernel
def scalar_flash_attn(
    q: ak.In[ak.f32, B, S], k: ak.In[ak.f32, B, S], v: ak.In[ak.f32, B, S], out: ak.Out[ak.f32, B, S]
):
    """Weigh v by the softmax of q * k along each row."""
    for b in ak.grid(B):
        score = q[b, :] * k[b, :]
        e = ak.exp(score - ak.max(score, axis=1, keepdims=True))
        out[b, :] = e / ak.sum(e, axis=1, keepdims=True) * v[b, :]
