"""The mean Huber loss of two vectors, one number from millions of elements."""

import agentkern as ak

N = ak.dim("N")
PART = 8192  # elements of a partial sum


@ak.kernel
def huber_loss(x: ak.In[ak.f32, N], y: ak.In[ak.f32, N], loss: ak.Out[ak.f32, 1], delta: ak.f32 = 1.0):
    """Average over N elements: d * d / 2 of differences d up to delta, delta * (abs(d) - delta / 2) beyond."""
    partial = ak.scratch((ak.cdiv(N, PART),), ak.f32)
    for p in ak.grid(ak.parts(N, block=PART)):
        away = ak.abs(x[p] - y[p])
        each = ak.where(away <= delta, 0.5 * away * away, delta * (away - 0.5 * delta))
        partial[p.ordinal] = ak.sum(each, axis=0)
    for _ in ak.grid(1):
        loss[0] = ak.sum(partial[:], axis=0) / N.to(ak.f32)
