"""The gradient of a GeGLU gate, gelu(gate) * up, in bf16."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")
SQRT_HALF = 0.7071067811865476
DENSITY_AT_0 = 0.3989422804014327  # of the normal distribution: 1 / sqrt(2 * pi)


@ak.kernel
def geglu_backward(
    x: ak.In[ak.bf16, T, 2 * H],
    dout: ak.In[ak.bf16, T, H],
    dx: ak.Out[ak.bf16, T, 2 * H],
):
    """Give the gradient of both halves of T rows of x, gates first, from that of gelu(x[:, :H]) * x[:, H:]."""
    for t, h in ak.grid(T, H):
        gate, up = x[t, h].to(ak.f32), x[t, h + H].to(ak.f32)
        d = dout[t, h].to(ak.f32)
        share = 0.5 * (1.0 + ak.erf(gate * SQRT_HALF))
        slope = share + gate * (DENSITY_AT_0 * ak.exp(-0.5 * gate * gate))
        dx[t, h] = (d * up * slope).to(ak.bf16)
        dx[t, h + H] = (d * (gate * share)).to(ak.bf16)
