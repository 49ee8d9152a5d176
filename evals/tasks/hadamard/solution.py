"""Eight butterflies."""

import agentkern as ak

T = ak.dim("T")


@ak.kernel
def hadamard(x: ak.In[ak.bf16, T, 256], out: ak.Out[ak.bf16, T, 256]):
    """Transform T rows of 256 elements."""
    for t in ak.grid(T):
        v = x[t, :].to(ak.f32)
        for half in (128, 64, 32, 16, 8, 4, 2, 1):
            pairs = v.reshape(t, 128 // half, 2, half)
            one, other = pairs[:, :, 0, :], pairs[:, :, 1, :]
            v = ak.stack((one + other, one - other), axis=2).reshape(t, 256)
        out[t, :] = (v * 0.0625).to(ak.bf16)
