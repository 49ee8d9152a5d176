"""The gradient of three Sinkhorn steps."""

import agentkern as ak

T = ak.dim("T")


@ak.kernel
def sinkhorn_bwd(a: ak.In[ak.f32, T, 4, 4], dy: ak.In[ak.f32, T, 4, 4], da: ak.Out[ak.f32, T, 4, 4]):
    """Go forward through three divisions and back again."""
    for t in ak.grid(T):
        m = a[t, :, :]
        e = ak.exp(m - ak.max(m, axis=2, keepdims=True))
        y0 = e / ak.sum(e, axis=2, keepdims=True)
        s1 = ak.sum(y0, axis=1, keepdims=True) + 1e-6
        y1 = y0 / s1
        s2 = ak.sum(y1, axis=2, keepdims=True) + 1e-6
        y2 = y1 / s2
        s3 = ak.sum(y2, axis=1, keepdims=True) + 1e-6
        y3 = y2 / s3
        g = dy[t, :, :]
        g = (g - ak.sum(g * y3, axis=1, keepdims=True)) / s3
        g = (g - ak.sum(g * y2, axis=2, keepdims=True)) / s2
        g = (g - ak.sum(g * y1, axis=1, keepdims=True)) / s1
        da[t, :, :] = y0 * (g - ak.sum(g * y0, axis=2, keepdims=True))
