"""Write a layer's output back to four streams."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def mhc_post(
    a: ak.In[ak.f32, T, 4, 4],
    b: ak.In[ak.bf16, T, 4, H],
    c: ak.In[ak.f32, T, 4],
    d: ak.In[ak.bf16, T, H],
    out: ak.Out[ak.bf16, T, 4, H],
):
    """Mix four streams and add the layer's output, weighted."""
    for t, h in ak.grid(T, H):
        streams, layer = b[t, :, h].to(ak.f32), d[t, h].to(ak.f32)
        for o in range(4):
            total = c[t, o, None] * layer
            for i in range(4):
                total = total + a[t, i, o, None] * streams[:, i, :]
            out[t, o, h] = total.to(ak.bf16)
