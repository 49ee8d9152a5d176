"""Slide filters over rows."""

import agentkern as ak

N, L = ak.dim("N"), ak.dim("L")
F, K = ak.static("F"), ak.static("K", min=1, max=64)


@ak.kernel
def conv1d(x: ak.In[ak.f16, N, L], w: ak.In[ak.f16, F, K], y: ak.Out[ak.f32, N, F, L]):
    """Weigh K neighbours of each element with each of F filters."""
    for n, f, l in ak.grid(ak.each(N), F, L):
        total = ak.zeros((f, l), ak.f32)
        for k in range(K):
            neighbour = ak.load(x[n, l + k], fill=0).to(ak.f32)
            total = total + w[f, k].to(ak.f32)[:, None] * neighbour[None, :]
        y[n, f, l] = total
