"""Add two vectors, in f32 and in bf16."""

import agentkern as ak

N = ak.dim("N")


@ak.kernel
def vector_add(x: ak.In[ak.f32, N], y: ak.In[ak.f32, N], out: ak.Out[ak.f32, N]):
    """Add two vectors of N elements."""
    for i in ak.grid(N):
        out[i] = x[i] + y[i]


@ak.kernel
def vector_add_bf16(x: ak.In[ak.bf16, N], y: ak.In[ak.bf16, N], out: ak.Out[ak.bf16, N]):
    """Add two vectors of N elements; each sum is taken in f32 and rounded once to bf16."""
    for i in ak.grid(N):
        out[i] = x[i] + y[i]
