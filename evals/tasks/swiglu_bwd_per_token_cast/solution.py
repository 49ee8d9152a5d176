"""The gradient of a gate over quantised rows, quantised."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H", multiple_of=32, min=32)


@ak.kernel
def swiglu_bwd_per_token_cast(
    x: ak.In[ak.e4m3, T, 2 * H],
    x_sf: ak.In[ak.f32, T, H // 16],
    dout: ak.In[ak.bf16, T, H],
    weight: ak.In[ak.f32, T],
    out: ak.Out[ak.bf16, T, H],
    q: ak.Out[ak.e4m3, T, 2 * H],
    q_sf: ak.Out[ak.f32, T, H // 16],
    dw: ak.Out[ak.f32, T],
):
    """Dequantise, differentiate, quantise in groups of 32."""
    for t in ak.grid(T):
        w = weight[t, None]
        v = (x[t, :].to(ak.f32).reshape(t, H // 16, 32) * x_sf[t, :, None]).reshape(t, 2 * H)
        left, right = v[:, :H], v[:, H:]
        grad = dout[t, :].to(ak.f32)
        s = 1.0 / (1.0 + ak.exp(-left))
        act = left * s * right
        g = grad * w
        both = ak.concat((g * s * right * (1.0 + left * (1.0 - s)), g * left * s), axis=1)
        grouped = both.reshape(t, H // 16, 32)
        m = ak.maximum(ak.absmax(grouped, axis=2), 1e-4)
        out[t, :] = (act * w).to(ak.bf16)
        q[t, :] = (grouped * (448.0 / m)[:, :, None]).to(ak.e4m3).reshape(t, 2 * H)
        q_sf[t, :] = m / 448.0
        dw[t] = ak.sum(grad * act, axis=1)
