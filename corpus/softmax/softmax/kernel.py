"""Softmax over rows of bf16."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def softmax(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.bf16, T, H]):
    """Turn each of T rows of H logits into probabilities."""
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        e = ak.exp(row - ak.max(row, axis=1, keepdims=True))
        out[t, :] = (e / ak.sum(e, axis=1, keepdims=True)).to(ak.bf16)
