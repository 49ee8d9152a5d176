"""Ten Sinkhorn iterations."""

import agentkern as ak

EPS = 1e-06
T = ak.dim("T")


@ak.kernel
def sinkhorn(a: ak.In[ak.f32, T, 4, 4], y: ak.Out[ak.f32, T, 4, 4]):
    """Normalise columns and rows of each 4 x 4 matrix in turn."""
    for t in ak.grid(T):
        m = a[t, :, :]
        e = ak.exp(m - ak.max(m, axis=2, keepdims=True))
        z = e / ak.sum(e, axis=2, keepdims=True) + EPS
        z = z / (ak.sum(z, axis=1, keepdims=True) + EPS)
        for _ in range(9):
            z = z / (ak.sum(z, axis=2, keepdims=True) + EPS)
            z = z / (ak.sum(z, axis=1, keepdims=True) + EPS)
        y[t, :, :] = z
