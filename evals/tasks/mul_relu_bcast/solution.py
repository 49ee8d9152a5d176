"""Scale columns and clip."""

import agentkern as ak

N, M = ak.dim("N"), ak.dim("M")


@ak.kernel
def mul_relu_bcast(a: ak.In[ak.f16, N, M], b: ak.In[ak.f16, M], out: ak.Out[ak.f16, N, M]):
    """Multiply column j by b[j] and clip at zero."""
    for n, m in ak.grid(N, M):
        out[n, m] = ak.maximum(a[n, m] * b[m][None, :], 0)
