"""A causal convolution along time, one short filter for each channel, and SiLU: the mixer of state space layers."""

import agentkern as ak

B, T = ak.dim("B"), ak.dim("T")
C, W = ak.static("C"), ak.static("W", min=1, max=8)


@ak.kernel
def conv1d_depthwise(
    x: ak.In[ak.bf16, B, T, C],
    weight: ak.In[ak.f32, W, C],
    bias: ak.In[ak.f32, C],
    out: ak.Out[ak.bf16, B, T, C],
):
    """Give silu(bias + sum of weight[k] * x[t - (W - 1) + k] over W taps), with zeros before the first time."""
    for b, t, c in ak.grid(B, T, C):
        total = ak.broadcast_to(bias[c], (b, t, c))
        for k in range(W):
            tap = ak.load(x[b, t + (k - (W - 1)), c], fill=0).to(ak.f32)
            total = ak.fma(tap, weight[k, c][None, None, :], total)
        out[b, t, c] = ak.silu(total).to(ak.bf16)
