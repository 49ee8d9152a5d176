"""Group norm over images in channel-first order, in bf16."""

import agentkern as ak

B, S = ak.dim("B"), ak.dim("S")
G, C = ak.static("G", min=1), ak.static("C", min=1)


@ak.kernel
def group_norm(
    x: ak.In[ak.bf16, B, G * C, S],
    weight: ak.In[ak.bf16, G * C],
    bias: ak.In[ak.bf16, G * C],
    out: ak.Out[ak.bf16, B, G * C, S],
    eps: ak.f32 = 1e-5,
):
    """Bring each of G groups of C channels of B images to mean 0 and variance 1; scale and shift each channel."""
    for b, g in ak.grid(B, ak.each(G)):
        group = x.reshape(B, G, C, S)[b, g, :, :].to(ak.f32)
        centred = group - ak.mean(group, axis=(1, 2), keepdims=True)
        scale = ak.rsqrt(ak.mean(centred * centred, axis=(1, 2), keepdims=True) + eps)
        w, add = weight.reshape(G, C)[g, :].to(ak.f32), bias.reshape(G, C)[g, :].to(ak.f32)
        out.reshape(B, G, C, S)[b, g, :, :] = (centred * scale * w[None, :, None] + add[None, :, None]).to(ak.bf16)
