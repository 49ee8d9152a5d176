"""Attention scores with a bias that falls linearly with distance (ALiBi)."""

import agentkern as ak

B, S, L = ak.dim("B"), ak.dim("S"), ak.dim("L")
N = ak.static("N")


@ak.kernel
def alibi_bias(
    scores: ak.In[ak.bf16, B, N, S, L],
    slopes: ak.In[ak.f32, N],
    out: ak.Out[ak.bf16, B, N, S, L],
    scale: ak.f32 = 0.125,
):
    """Scale the scores of S queries, the last of L keys' positions, and subtract a head's slope times the distance."""
    for b, n, i, j in ak.grid(B, N, S, L):
        distance = ak.abs(i.index[:, None] + (L - S) - j.index[None, :]).to(ak.f32)
        scaled = scores[b, n, i, j].to(ak.f32) * scale
        out[b, n, i, j] = (scaled - slopes[n][:, None, None] * distance).to(ak.bf16)
