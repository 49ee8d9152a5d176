"""Split mixing logits into weights."""

import agentkern as ak

T = ak.dim("T")


@ak.kernel
def pre_split_mixes(
    mixes: ak.In[ak.f32, T, 24],
    scale: ak.In[ak.f32, 3],
    base: ak.In[ak.f32, 24],
    pre: ak.Out[ak.f32, T, 4],
    post: ak.Out[ak.f32, T, 4],
    comb: ak.Out[ak.f32, T, 4, 4],
    eps: ak.f32,
    factor: ak.f32,
):
    """Scale and shift the three parts of (T, 24) logits."""
    for t in ak.grid(T):
        pre[t, :] = ak.sigmoid(mixes[t, :4] * scale[0] + base[:4]) + eps
        post[t, :] = ak.sigmoid(mixes[t, 4:8] * scale[1] + base[4:8]) * factor
        rest = mixes[t, 8:] * scale[2] + base[8:]
        comb[t, :, :] = rest.reshape(t, 4, 4)
