"""Hash n-grams of token ids into the rows of eight tables."""

import agentkern as ak

T = ak.dim("T")


@ak.kernel
def engram_hash(
    ids: ak.In[ak.i32, T, 3],
    mult: ak.In[ak.i64, 2, 3],
    vocab: ak.In[ak.i32, 2, 2, 8].values(1, 1000000),
    offset: ak.In[ak.i32, 2, 16],
    out: ak.Out[ak.i32, 2, T, 16],
):
    """Hash the pairs and triples of T tokens for two layers."""
    for layer, t in ak.grid(ak.each(2), T):
        h = ids[t, 0].to(ak.i64) * mult[layer, 0]
        for n in (1, 2):
            h = h ^ (ids[t, n].to(ak.i64) * mult[layer, n])
            place = h[:, None] % vocab[layer, n - 1, :].to(ak.i64)[None, :]
            start = offset[layer, 8 * (n - 1) : 8 * n].to(ak.i64)
            out[layer, t, 8 * (n - 1) : 8 * n] = (place + start[None, :]).to(ak.i32)
