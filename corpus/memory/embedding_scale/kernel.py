"""Embedding of tokens, scaled: the first layer of models that multiply by the square root of their width."""

import agentkern as ak

T, S = ak.dim("T"), ak.dim("S")
H = ak.static("H")


@ak.kernel
def embedding_scale(
    table: ak.In[ak.bf16, S, H],
    ids: ak.In[ak.i64, T],
    out: ak.Out[ak.bf16, T, H],
    scale: ak.f32 = 1.0,
):
    """Give scale times row ids[t] of a table of S rows of H elements for each of T ids; zeros for ids outside it."""
    for t, h in ak.grid(T, H):
        number = ids[t]
        known = (number >= 0) & (number < S)
        row = ak.load(table[number, h], where=known[:, None], fill=0)
        out[t, h] = (row.to(ak.f32) * scale).to(ak.bf16)
