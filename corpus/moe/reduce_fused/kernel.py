"""Add up the rows that a token's experts gave, weighted, in the order of its slots; in bf16 and in e4m3."""

import agentkern as ak

T, P = ak.dim("T"), ak.dim("P")
H, K = ak.static("H"), ak.static("K", max=16)


@ak.inline
def weighted_sum(x, position, weight, x_scale, t):
    total = ak.zeros((t, H), ak.f32)
    for k in range(K):
        place = position[t, k]
        there = place >= 0
        row = ak.load(x[place, :], where=there[:, None], fill=0).to(ak.f32)
        factor = weight[t, k] if weight is not None else ak.full((t,), 1.0, ak.f32)
        if x_scale is not None:
            factor = factor * ak.load(x_scale[place], where=there, fill=0)
        total = ak.where(there[:, None], ak.fma(row, factor[:, None], total), total)
    return total


@ak.kernel
def reduce_fused(
    x: ak.In[ak.bf16, P, H],
    position: ak.In[ak.i32, T, K].values(0, P, ignore=-1),
    weight: ak.In[ak.f32, T, K] | None,
    x_scale: ak.In[ak.f32, P] | None,
    out: ak.Out[ak.bf16, T, H],
):
    """Add for each of T tokens the rows of x that its K slots name, each times its weight and the row's scale."""
    for t in ak.grid(T):
        out[t, :] = weighted_sum(x, position, weight, x_scale, t).to(ak.bf16)


@ak.kernel
def reduce_fused_e4m3(
    x: ak.In[ak.bf16, P, H],
    position: ak.In[ak.i32, T, K].values(0, P, ignore=-1),
    weight: ak.In[ak.f32, T, K] | None,
    x_scale: ak.In[ak.f32, P] | None,
    scale: ak.In[ak.f32, 1],
    out: ak.Out[ak.e4m3, T, H],
):
    """Add as reduce_fused does, then multiply by one scale and round to e4m3."""
    for t in ak.grid(T):
        out[t, :] = (weighted_sum(x, position, weight, x_scale, t) * scale[0]).to(ak.e4m3)
