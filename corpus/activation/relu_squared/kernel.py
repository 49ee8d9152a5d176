"""Squared ReLU in bf16."""

import agentkern as ak

N = ak.dim("N")


@ak.kernel
def relu_squared(x: ak.In[ak.bf16, N], out: ak.Out[ak.bf16, N]):
    """Square what is positive of N elements; the rest becomes 0."""
    for i in ak.grid(N):
        positive = ak.maximum(x[i].to(ak.f32), 0.0)
        out[i] = (positive * positive).to(ak.bf16)
