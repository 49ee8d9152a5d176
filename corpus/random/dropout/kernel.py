"""Dropout whose mask is a function of a seed and of the element's place."""

import agentkern as ak

N = ak.dim("N")


@ak.kernel
def dropout(x: ak.In[ak.bf16, 4 * N], out: ak.Out[ak.bf16, 4 * N], seed: ak.u64, p: ak.f32 = 0.1):
    """Set each of 4 * N elements to 0 with probability p and divide the others by 1 - p."""
    for i in ak.grid(N):
        bits = ak.stack(ak.philox(seed, i.index), axis=1)
        chance = (bits >> 8).to(ak.f32) * (1.0 / 16777216.0)
        scaled = x.reshape(N, 4)[i, :].to(ak.f32) / (1.0 - p)
        out.reshape(N, 4)[i, :] = ak.where(chance >= p, scaled, 0.0).to(ak.bf16)
