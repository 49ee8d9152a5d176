"""Running sums along rows of bf16."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def cumsum(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.bf16, T, H]):
    """Give each element of T rows of H elements the sum of its row up to and with it."""
    for t in ak.grid(T):
        out[t, :] = ak.cumsum(x[t, :].to(ak.f32), axis=1).to(ak.bf16)
