"""The best groups of each token."""

import agentkern as ak

T = ak.dim("T")
G, C = ak.static("G", min=1), ak.static("C", min=2)
KG = ak.static("KG", min=1)


@ak.kernel
def topk_sum_group(scores: ak.In[ak.f32, T, G, C], group: ak.Out[ak.i64, T, KG]):
    """Give the KG groups whose two best scores have the largest sums."""
    for t in ak.grid(T):
        top, _ = ak.topk(scores[t, :, :], 2, axis=2)
        _, best = ak.topk(top[:, :, 0] + top[:, :, 1], KG, axis=1)
        group[t, :] = best
