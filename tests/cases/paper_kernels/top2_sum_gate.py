import agentkern as ak

E = ak.static("E")
K = ak.static("K")
R = ak.dim("R")
T = ak.dim("T")


@ak.kernel
def top2_sum_gate(
    logits: ak.In[ak.f32, T, E],
    bias: ak.In[ak.f32, E],
    mask: ak.In[ak.bool, T] | None,
    fixed: ak.In[ak.bool, T] | None,
    given: ak.In[ak.i64, T, K].values(0, E) | None,
    physical: ak.In[ak.i32, E, R] | None,
    copies: ak.In[ak.i32, E].values(1, R + 1) | None,
    idx: ak.Out[ak.i64, T, K],
    weight: ak.Out[ak.f32, T, K],
    scale: ak.f32,
    ep_rank: ak.i32 = 0,
    scoring: ak.static_int = 0,
    groups: ak.static_int = 8,
    kept: ak.static_int = 4,
):
    """Route T tokens to K of E experts, in the `kept` best of `groups` groups; scoring 0 sigmoid, 1 sqrt-softplus,
    2 softmax. Without shared experts and rank-local numbering."""
    for t in ak.grid(T):
        x = logits[t, :]
        ak.require(ak.abs(x) < ak.inf, "logits must be finite")
        if scoring == 0:
            score = ak.sigmoid(x)
        elif scoring == 1:
            score = ak.sqrt(ak.where(x > 20.0, x, ak.log1p(ak.exp(x))))
        else:
            z = ak.exp(x - ak.max(x, axis=1, keepdims=True))
            score = z / ak.sum(z, axis=1, keepdims=True)
        ranking = (x if scoring == 2 else score) + bias[:]
        if groups > 1:
            ranking = ranking.reshape(t, groups, E // groups)
            best, _ = ak.topk(ranking, 2, axis=2)
            _, keep = ak.topk(best[:, :, 0] + best[:, :, 1], kept, axis=1)
            on = ak.any(keep[:, :, None] == ak.arange(groups), axis=1)                  # (t, groups)
            ranking = ak.where(on[:, :, None], ranking, -ak.inf).reshape(t, E)
        _, e = ak.topk(ranking, K, axis=1)
        if fixed is not None:
            e = ak.where(fixed[t, None], given[t, :], e)
        w = ak.take_along_axis(score, e, axis=1)
        total = ak.full((t,), 1e-20, ak.f32)
        for k in range(K):                                                              # in slot order
            total = total + w[:, k]
        w = w / total[:, None] * scale
        if physical is not None:
            e = physical[e, (ep_rank + t.index[:, None] * 23333) % copies[e]]
        if mask is not None:
            e = ak.where(mask[t, None], e, -1)
            w = ak.where(mask[t, None], w, 0.0)
        idx[t, :] = e
        weight[t, :] = w
