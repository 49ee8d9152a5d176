"""Count experts."""

import agentkern as ak

T = ak.dim("T")
K, G = ak.static("K"), ak.static("G", min=1, max=1024)


@ak.kernel
def group_count(idx: ak.In[ak.i64, T, K].values(-1, G), count: ak.Out[ak.i32, G]):
    """Count how often each of G experts occurs."""
    flat = idx.reshape(T * K)
    part = ak.scratch((ak.cdiv(T * K, 1024), G), ak.i32)
    for n in ak.grid(T * K, block=1024):
        part[n.ordinal, :] = ak.bincount(flat[n], G)
    for g in ak.grid(G):
        count[g] = ak.sum(part[:, g], axis=0)
