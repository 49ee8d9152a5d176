"""The largest element of each row and where it is."""

import agentkern as ak

T, V = ak.dim("T"), ak.static("V", min=1)


@ak.kernel
def argmax(x: ak.In[ak.f32, T, V], value: ak.Out[ak.f32, T], index: ak.Out[ak.i64, T]):
    """Find the first largest element of T rows."""
    for t in ak.grid(T):
        row = x[t, :]
        value[t] = ak.max(row, axis=1)
        index[t] = ak.argmax(row, axis=1)
