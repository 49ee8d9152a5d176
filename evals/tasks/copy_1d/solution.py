"""Copy a vector."""

import agentkern as ak

N = ak.dim("N")


@ak.kernel
def copy_1d(a: ak.In[ak.f16, N], out: ak.Out[ak.f16, N]):
    """Copy N elements."""
    for n in ak.grid(N):
        out[n] = a[n]
