"""Copy rows of a table by their numbers: the embedding of tokens."""

import agentkern as ak

T, S = ak.dim("T"), ak.dim("S")
H = ak.static("H")


@ak.kernel
def gather_rows(
    table: ak.In[ak.bf16, S, H],
    ids: ak.In[ak.i32, T].values(0, S),
    out: ak.Out[ak.bf16, T, H],
):
    """Copy row ids[t] of a table of S rows of H elements to row t of out, for each of T ids."""
    for t in ak.grid(T):
        out[t, :] = table[ids[t], :]
