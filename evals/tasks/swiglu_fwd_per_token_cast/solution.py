"""Gate and quantise."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H", multiple_of=128, min=128)


@ak.kernel
def swiglu_fwd_per_token_cast(
    x: ak.In[ak.bf16, T, 2 * H],
    weight: ak.In[ak.f32, T],
    q: ak.Out[ak.e4m3, T, H],
    sf: ak.Out[ak.f32, T, H // 128],
):
    """Quantise silu(gate) * value * weight in groups of 128 columns."""
    for t in ak.grid(T):
        gate, value = x[t, :H].to(ak.f32), x[t, H:].to(ak.f32)
        act = gate / (1.0 + ak.exp(-gate)) * value * weight[t, None]
        groups = act.reshape(t, H // 128, 128)
        a = ak.maximum(ak.absmax(groups, axis=2), 1e-4)
        q[t, :] = (groups * (448.0 / a)[:, :, None]).to(ak.e4m3).reshape(t, H)
        sf[t, :] = a / 448.0
