"""Logarithms of softmax over rows of bf16, in f32."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def log_softmax(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.f32, T, H]):
    """Turn each of T rows of H logits into logarithms of probabilities."""
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        below = row - ak.max(row, axis=1, keepdims=True)
        out[t, :] = below - ak.log(ak.sum(ak.exp(below), axis=1, keepdims=True))
