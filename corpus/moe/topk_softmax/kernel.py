"""Route tokens: the K best experts of each and their softmax weights."""

import agentkern as ak

T = ak.dim("T")
E, K = ak.static("E", min=1), ak.static("K", min=1, max=16)


@ak.kernel
def topk_softmax(
    logits: ak.In[ak.f32, T, E],
    weight: ak.Out[ak.f32, T, K],
    expert: ak.Out[ak.i32, T, K],
):
    """Give for each of T tokens its K largest of E logits: which they are, and their softmax among themselves."""
    for t in ak.grid(T):
        best, place = ak.topk(logits[t, :], K, axis=1)
        e = ak.exp(best - ak.max(best, axis=1, keepdims=True))
        weight[t, :] = e / ak.sum(e, axis=1, keepdims=True)
        expert[t, :] = place.to(ak.i32)
