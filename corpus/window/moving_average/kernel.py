"""A moving average along time: the mean of the last W values, of fewer at the beginning."""

import agentkern as ak

T, C = ak.dim("T"), ak.dim("C")
W = ak.static("W", min=1, max=64)


@ak.kernel
def moving_average(x: ak.In[ak.f32, T, C], out: ak.Out[ak.f32, T, C]):
    """Give each of T times of C series the mean of its value and the W - 1 before it, as far as there are any."""
    for t, c in ak.grid(T, C):
        total = ak.zeros((t, c), ak.f32)
        for k in range(W):
            total += ak.load(x[t - (W - 1 - k), c], fill=0)
        count = ak.minimum(t.index + 1, W).to(ak.f32)
        out[t, c] = total / count[:, None]
