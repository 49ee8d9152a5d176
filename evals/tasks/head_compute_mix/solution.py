"""Mixing weights of four streams."""

import agentkern as ak

T = ak.dim("T")


@ak.kernel
def head_compute_mix(
    x: ak.In[ak.f32, T, 4],
    scale: ak.In[ak.f32, 1],
    base: ak.In[ak.f32, 4],
    mix: ak.Out[ak.f32, T, 4],
    eps: ak.f32,
):
    """Turn (T, 4) activations into weights."""
    for t in ak.grid(T):
        mix[t, :] = ak.sigmoid(x[t, :] * scale[0] + base[:]) + eps
