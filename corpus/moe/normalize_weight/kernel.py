"""Normalise the weights of each token's K experts, added in the order of the slots."""

import agentkern as ak

T = ak.dim("T")
K = ak.static("K", max=16)


@ak.kernel
def normalize_weight(
    weight: ak.In[ak.f32, T, K],
    denominator: ak.Out[ak.f32, T],
    normalized: ak.Out[ak.f32, T, K],
):
    """Divide the K weights of each of T tokens by 1e-20 plus their sum; give the divisor too."""
    for t in ak.grid(T):
        total = ak.full((t,), 1e-20, ak.f32)
        for k in range(K):
            total = total + weight[t, k]
        denominator[t] = total
        normalized[t, :] = weight[t, :] / total[:, None]
