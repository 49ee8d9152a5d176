"""Renumber experts for one rank."""

import agentkern as ak

T = ak.dim("T")
K = ak.static("K")


@ak.kernel
def mask_indices_by_tp(
    idx: ak.In[ak.i64, T, K].values(-1, 256),
    out: ak.Out[ak.i64, T, K],
    per_gpu: ak.i64,
    n_tp: ak.i64,
    per_dp: ak.i64,
    rank: ak.i64,
):
    """Give each expert of `rank` its local number, all others -1."""
    ak.require(per_gpu >= 1, "per_gpu is at least 1")
    ak.require(n_tp >= 1, "n_tp is at least 1")
    ak.require(per_dp >= 1, "per_dp is at least 1")
    for t in ak.grid(T):
        v = idx[t, :]
        here = (v >= 0) & (v // per_gpu % n_tp == rank)
        u = v - rank * per_gpu
        local = u - u // per_dp * (per_dp - per_gpu)
        out[t, :] = ak.where(here, local, -1)
