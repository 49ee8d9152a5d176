"""Transpose a batch of matrices."""

import agentkern as ak

B, M, N = ak.dim("B"), ak.dim("M"), ak.dim("N")


@ak.kernel
def batched_transpose(x: ak.In[ak.bf16, B, M, N], out: ak.Out[ak.bf16, B, N, M]):
    """Exchange the last two axes."""
    for b, m, n in ak.grid(ak.each(B), M, N):
        out[b, n, m] = x[b, m, n].T
