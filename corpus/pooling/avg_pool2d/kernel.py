"""Average pooling of images, 2 by 2."""

import agentkern as ak

N, Y, X = ak.dim("N"), ak.dim("Y"), ak.dim("X")


@ak.kernel
def avg_pool2d(x: ak.In[ak.bf16, N, 2 * Y, 2 * X], out: ak.Out[ak.bf16, N, Y, X]):
    """Give each 2 by 2 patch of N planes of 2 * Y by 2 * X pixels its mean."""
    for n, i, j in ak.grid(N, Y, X):
        total = ak.zeros((n, i, j), ak.f32)
        for dy in range(2):
            for dx in range(2):
                total += x[n, 2 * i + dy, 2 * j + dx].to(ak.f32)
        out[n, i, j] = (total * 0.25).to(ak.bf16)
