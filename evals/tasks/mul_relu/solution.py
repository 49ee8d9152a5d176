"""Multiply and clip."""

import agentkern as ak

N = ak.dim("N")


@ak.kernel
def mul_relu(a: ak.In[ak.f16, N], b: ak.In[ak.f16, N], out: ak.Out[ak.f16, N]):
    """Multiply N elements and clip at zero."""
    for n in ak.grid(N):
        out[n] = ak.maximum(a[n] * b[n], 0)
