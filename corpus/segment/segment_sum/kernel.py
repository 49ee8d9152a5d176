"""Sums over the rows of each segment of a ragged batch."""

import agentkern as ak

T, S = ak.dim("T"), ak.dim("S")
H = ak.static("H")


@ak.kernel
def segment_sum(
    x: ak.In[ak.bf16, T, H],
    offsets: ak.In[ak.i32, S + 1].offsets(T),
    total: ak.Out[ak.f32, S, H],
):
    """Add up the rows offsets[s] to offsets[s + 1] - 1 of x (T, H) for each of S segments; 0 for an empty one."""
    for s, h in ak.grid(ak.segments(offsets), H):
        total[s.ordinal, h] = ak.sum(x[s, h].to(ak.f32), axis=0)
