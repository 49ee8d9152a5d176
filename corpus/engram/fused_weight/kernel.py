"""Merge two bf16 weights of four heads into one f32 weight."""

import agentkern as ak

H = ak.static("H")


@ak.kernel
def fused_weight(wh: ak.In[ak.bf16, 4, H], we: ak.In[ak.bf16, 4, H], out: ak.Out[ak.f32, 4, H]):
    """Multiply two weights (4, H) without rounding."""
    for m, h in ak.grid(4, H):
        out[m, h] = wh[m, h].to(ak.f32) * we[m, h].to(ak.f32)
