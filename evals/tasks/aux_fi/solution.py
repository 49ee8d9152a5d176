"""The load of each expert."""

import agentkern as ak

T = ak.dim("T", min=1)
K, E = ak.static("K", min=1), ak.static("E", min=1, max=1024)


@ak.kernel
def aux_fi(idx: ak.In[ak.i64, T, K].values(-1, E), f: ak.Out[ak.f32, E]):
    """Count each of E experts among T * K slots, relative to an even share."""
    flat = idx.reshape(T * K)
    part = ak.scratch((ak.cdiv(T * K, 1024), E), ak.i32)
    for n in ak.grid(T * K, block=1024):
        part[n.ordinal, :] = ak.bincount(flat[n], E)
    for e in ak.grid(E):
        count = ak.sum(part[:, e], axis=0)
        f[e] = (count * E).to(ak.f32) / ak.full((), T * K, ak.i64).to(ak.f32)
