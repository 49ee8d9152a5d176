"""Quantise rows of bf16 to i8 with one f32 scale per row."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def per_token_cast_int8(x: ak.In[ak.bf16, T, H], q: ak.Out[ak.i8, T, H], sf: ak.Out[ak.f32, T]):
    """Quantise (T, H) symmetrically; x is about q * sf, the scale of each row taken from its largest magnitude."""
    for t in ak.grid(T):
        v = x[t, :].to(ak.f32)
        scale = ak.maximum(ak.absmax(v, axis=1), 1e-8) / 127.0
        q[t, :] = ak.clip(ak.round(v / scale[:, None]), -127.0, 127.0).to(ak.i8)
        sf[t] = scale
