"""A matrix times a vector."""

import agentkern as ak

M, K = ak.dim("M"), ak.static("K")


@ak.kernel
def gemv(a: ak.In[ak.f16, M, K], x: ak.In[ak.f16, K], y: ak.Out[ak.f32, M]):
    """Multiply each of M rows by x and add up."""
    for m in ak.grid(M):
        y[m] = ak.sum(a[m, :].to(ak.f32) * x[:].to(ak.f32), axis=1)
