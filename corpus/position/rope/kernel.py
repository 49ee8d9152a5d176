"""Rotary position embedding, the form that pairs the two halves of each head."""

import agentkern as ak

B, S = ak.dim("B"), ak.dim("S")
N, D = ak.static("N"), ak.static("D", multiple_of=2)


@ak.kernel
def rope(
    x: ak.In[ak.bf16, B, S, N, D],
    cos: ak.In[ak.f32, S, D // 2],
    sin: ak.In[ak.f32, S, D // 2],
    out: ak.Out[ak.bf16, B, S, N, D],
):
    """Rotate elements i and i + D/2 of each of N heads by the angle whose cosine and sine stand at position s, i."""
    for b, s in ak.grid(B, S):
        c, n = cos[s, :][:, None, :], sin[s, :][:, None, :]
        first, second = x[b, s, :, : D // 2].to(ak.f32), x[b, s, :, D // 2 :].to(ak.f32)
        out[b, s, :, : D // 2] = (first * c - second * n).to(ak.bf16)
        out[b, s, :, D // 2 :] = (second * c + first * n).to(ak.bf16)
