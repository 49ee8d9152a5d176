"""Sums from each time to the end of its chunk of 64: the gradient of running sums that begin anew with every chunk."""

import agentkern as ak

T, H = ak.dim("T"), ak.dim("H")
CHUNK = 64


@ak.kernel
def reverse_chunk_cumsum(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H]):
    """Give each of T times of H channels the sum of its chunk from it on."""
    for t, h in ak.grid(T, H, block=(CHUNK, None)):
        out[t, h] = ak.cumsum(x[t, h], axis=0, reverse=True)
