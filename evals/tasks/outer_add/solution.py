"""Add a column and a row."""

import agentkern as ak

N, M = ak.dim("N"), ak.dim("M")


@ak.kernel
def outer_add(a: ak.In[ak.f16, N], b: ak.In[ak.f16, M], out: ak.Out[ak.f16, N, M]):
    """Add a[i] and b[j] for all pairs."""
    for n, m in ak.grid(N, M):
        out[n, m] = a[n][:, None] + b[m][None, :]
