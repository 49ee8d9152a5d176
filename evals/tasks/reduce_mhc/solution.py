"""Add four streams."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def reduce_mhc(x: ak.In[ak.bf16, T, 4, H], out: ak.Out[ak.bf16, T, H]):
    """Add the four rows of each of T tokens."""
    for t, h in ak.grid(T, H):
        out[t, h] = ak.sum(x[t, :, h].to(ak.f32), axis=1).to(ak.bf16)
