"""The largest value so far along rows, and how far below it each value lies."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def cummax(x: ak.In[ak.f32, T, H], peak: ak.Out[ak.f32, T, H], drawdown: ak.Out[ak.f32, T, H]):
    """Give each element of T rows of H elements the largest up to and with it, and the difference to that."""
    for t in ak.grid(T):
        row = x[t, :]
        highest = ak.cummax(row, axis=1)
        peak[t, :] = highest
        drawdown[t, :] = highest - row
