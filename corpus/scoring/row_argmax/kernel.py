"""The largest logit of each row and where it is: greedy decoding."""

import agentkern as ak

T = ak.dim("T")
V = ak.static("V", min=1)


@ak.kernel
def row_argmax(x: ak.In[ak.bf16, T, V], value: ak.Out[ak.bf16, T], index: ak.Out[ak.i64, T]):
    """Give the largest of each of T rows of V logits, and the first column that holds it."""
    for t in ak.grid(T):
        best = ak.argmax(x[t, :].to(ak.f32), axis=1)
        index[t] = best
        value[t] = x[t.index, best]
