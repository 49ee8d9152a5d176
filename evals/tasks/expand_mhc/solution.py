"""Repeat rows for four streams."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def expand_mhc(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.bf16, T, 4, H]):
    """Give each of T rows to four streams."""
    for t, h in ak.grid(T, H):
        out[t, :, h] = x[t, h][:, None, :]
