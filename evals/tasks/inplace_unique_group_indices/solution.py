"""Keep the first index of every group."""

import agentkern as ak

T = ak.dim("T")
K = ak.static("K")


@ak.kernel
def inplace_unique_group_indices(idx: ak.InOut[ak.i64, T, K], per_group: ak.i64):
    """In each row of idx (T, K) keep the first index of every group of `per_group`; later ones become -1."""
    ak.require(per_group > 0, "per_group must be positive")
    for t in ak.grid(T):
        v = idx[t, :]
        group = ak.where(v >= 0, v // per_group, -1)
        again = ak.occurrence(group, axis=1) > 0
        idx[t, :] = ak.where((v >= 0) & again, -1, v)
