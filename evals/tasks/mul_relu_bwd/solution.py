"""The gradient of a clipped product."""

import agentkern as ak

N, M = ak.dim("N"), ak.dim("M")


@ak.kernel
def mul_relu_bwd(
    a: ak.In[ak.f16, N, M], b: ak.In[ak.f16, M], dout: ak.In[ak.f16, N, M], da: ak.Out[ak.f16, N, M]
):
    """Pass dout * b on where a * b is above zero."""
    for n, m in ak.grid(N, M):
        scale = b[m].to(ak.f32)[None, :]
        on = a[n, m].to(ak.f32) * scale > 0.0
        da[n, m] = ak.where(on, dout[n, m].to(ak.f32) * scale, 0.0).to(ak.f16)
