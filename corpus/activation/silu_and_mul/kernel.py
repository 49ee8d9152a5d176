"""The gate of a SwiGLU layer: silu of one half of each row times the other half, in bf16."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def silu_and_mul(x: ak.In[ak.bf16, T, 2 * H], out: ak.Out[ak.bf16, T, H]):
    """Multiply silu of the first H columns of each of T rows by the last H columns."""
    for t in ak.grid(T):
        gate = ak.silu(x[t, :H].to(ak.f32))
        out[t, :] = (gate * x[t, H:].to(ak.f32)).to(ak.bf16)
