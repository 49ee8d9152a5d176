"""Unpack 12-bit floats."""

import agentkern as ak

T = ak.dim("T")
W = ak.static("W")


@ak.kernel
def cast_back_e5m6(x: ak.In[ak.u32, T, W, 3], sf: ak.In[ak.f32, T], out: ak.Out[ak.bf16, T, 8 * W]):
    """Unpack eight 12-bit floats from every three words, times the row's scale."""
    for t, w in ak.grid(T, W):
        words = x[t, w, :]
        a, b, c = words[:, :, 0], words[:, :, 1], words[:, :, 2]
        bits = ak.stack((a >> 20, a >> 8, a << 4 | b >> 28, b >> 16, b >> 4, b << 8 | c >> 24, c >> 12, c), axis=2)
        v = ((bits & 0xFFF) << 4).to(ak.u16).bitcast(ak.f16).to(ak.f32)
        out.reshape(T, W, 8)[t, w, :] = (v * sf[t, None, None]).to(ak.bf16)
