"""Mix four streams."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def pre_apply_mix(x: ak.In[ak.bf16, T, 4, H], mix: ak.In[ak.f32, T, 4], out: ak.Out[ak.bf16, T, H]):
    """Add four streams with the weights of each token."""
    for t, h in ak.grid(T, H):
        out[t, h] = ak.sum(x[t, :, h].to(ak.f32) * mix[t, :, None], axis=1).to(ak.bf16)
