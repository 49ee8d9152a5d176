"""Dequantise blocks of 128 x 128."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def cast_back(
    q: ak.In[ak.e4m3, T, H],
    sf: ak.In[ak.f32, ak.cdiv(T, 128), ak.cdiv(H, 128)],
    out: ak.Out[ak.bf16, T, H],
):
    """Multiply each block of 128 x 128 by its scale."""
    for t, h in ak.grid(T, H, block=(128, 128)):
        out[t, h] = (q[t, h].to(ak.f32) * sf[t.ordinal, h.ordinal]).to(ak.bf16)
