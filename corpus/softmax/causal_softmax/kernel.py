"""Softmax of scaled attention scores where each query sees the keys up to its own place."""

import agentkern as ak

B, S = ak.dim("B"), ak.dim("S")


@ak.kernel
def causal_softmax(scores: ak.In[ak.bf16, B, S, S], out: ak.Out[ak.bf16, B, S, S], scale: ak.f32 = 0.125):
    """Turn row i of each of B squares of scores, times scale, into probabilities of columns 0 to i; the rest is 0."""
    for b, i in ak.grid(B, S):
        row = scores[b, i, :].to(ak.f32) * scale
        seen = ak.arange(S)[None, :] <= i.index[:, None]
        row = ak.where(seen[None, :, :], row, -ak.inf)
        top = ak.max(row, axis=2, keepdims=True)
        e = ak.exp(row - ak.where(top > -ak.inf, top, 0.0))
        out[b, i, :] = (e / ak.sum(e, axis=2, keepdims=True)).to(ak.bf16)
