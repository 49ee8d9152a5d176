"""The best experts of each token."""

import agentkern as ak

T = ak.dim("T")
E, K = ak.static("E"), ak.static("K", min=1)


@ak.kernel
def topk_gate(scores: ak.In[ak.f32, T, E], index: ak.Out[ak.i64, T, K]):
    """Give the K best of E experts for each of T tokens."""
    for t in ak.grid(T):
        _, best = ak.topk(scores[t, :], K, axis=1)
        index[t, :] = best
