"""Lay out copies of each token's row expert by expert, as grouped products want them."""

import agentkern as ak

T, P = ak.dim("T"), ak.dim("P")
H, K = ak.static("H"), ak.static("K", max=16)


@ak.kernel
def expand_to_fused(
    x: ak.In[ak.bf16, T, H],
    position: ak.In[ak.i32, T, K].values(0, P, ignore=-1).distinct(ignore=-1),
    expert: ak.In[ak.i32, P],
    out: ak.Out[ak.bf16, P, H].partial(),
):
    """Copy row t of x to the K rows of out that position[t] names, -1 for none; rows without an expert become 0."""
    for p in ak.grid(P):
        unused = (expert[p] < 0)[:, None]
        for h in ak.steps(H):
            ak.store(out[p, h], 0, where=unused)
    for t in ak.grid(T):
        row = x[t, :]
        for k in range(K):
            place = position[t, k]
            ak.store(out[place, :], row, where=(place >= 0)[:, None])
