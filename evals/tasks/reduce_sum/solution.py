"""Row sums."""

import agentkern as ak

T, N = ak.dim("T"), ak.static("N")


@ak.kernel
def reduce_sum(x: ak.In[ak.f32, T, N], out: ak.Out[ak.f32, T]):
    """Add up each of T rows of N elements."""
    for t in ak.grid(T):
        out[t] = ak.sum(x[t, :], axis=1)
