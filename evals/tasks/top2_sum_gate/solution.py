"""Route tokens to experts in the best groups."""

import agentkern as ak

T = ak.dim("T")
E, K = ak.static("E", multiple_of=8, min=16), ak.static("K", min=1, max=8)


@ak.kernel
def top2_sum_gate(
    logits: ak.In[ak.f32, T, E],
    bias: ak.In[ak.f32, E],
    index: ak.Out[ak.i64, T, K],
    weight: ak.Out[ak.f32, T, K],
    scale: ak.f32,
):
    """Route T tokens to K of E experts in the 4 best of 8 groups."""
    for t in ak.grid(T):
        score = ak.sigmoid(logits[t, :])
        ranking = (score + bias[:]).reshape(t, 8, E // 8)
        best, _ = ak.topk(ranking, 2, axis=2)
        _, keep = ak.topk(best[:, :, 0] + best[:, :, 1], 4, axis=1)
        on = ak.any(keep[:, :, None] == ak.arange(8), axis=1)
        _, e = ak.topk(ak.where(on[:, :, None], ranking, -ak.inf).reshape(t, E), K, axis=1)
        w = ak.take_along_axis(score, e, axis=1)
        total = ak.full((t,), 1e-20, ak.f32)
        for k in range(K):
            total = total + w[:, k]
        index[t, :] = e
        weight[t, :] = w / total[:, None] * scale
