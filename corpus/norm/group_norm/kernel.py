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
    centres, scales = ak.scratch((B, G), ak.f32), ak.scratch((B, G), ak.f32)
    for b, g in ak.grid(B, G):
        row = x.reshape(B, G, C * S)[b, g, :].to(ak.f32)
        centre = ak.mean(row, axis=2)
        away = row - centre[:, :, None]
        centres[b, g] = centre
        scales[b, g] = ak.rsqrt(ak.mean(away * away, axis=2) + eps)
    for b, g, c, s in ak.grid(B, G, C, S):
        pixel = x.reshape(B, G, C, S)[b, g, c, s].to(ak.f32)
        normed = (pixel - centres[b, g][:, :, None, None]) * scales[b, g][:, :, None, None]
        w, shift = weight.reshape(G, C)[g, c].to(ak.f32), bias.reshape(G, C)[g, c].to(ak.f32)
        out.reshape(B, G, C, S)[b, g, c, s] = (normed * w[None, :, :, None] + shift[None, :, :, None]).to(ak.bf16)
