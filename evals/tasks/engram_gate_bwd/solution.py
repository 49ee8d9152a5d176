"""Gradients of a gated memory."""

import agentkern as ak

T, H = ak.dim("T"), ak.static("H", min=1)


@ak.kernel
def engram_gate_bwd(
    x: ak.In[ak.bf16, T, 4, H],
    k: ak.In[ak.bf16, T, 4, H],
    v: ak.In[ak.bf16, T, H],
    w: ak.In[ak.f32, 4, H],
    dout: ak.In[ak.bf16, T, 4, H],
    dot: ak.In[ak.f32, T, 4],
    gate: ak.In[ak.f32, T, 4],
    rx: ak.In[ak.f32, T, 4],
    rk: ak.In[ak.f32, T, 4],
    dx: ak.Out[ak.bf16, T, 4, H],
    dk: ak.Out[ak.bf16, T, 4, H],
    dv: ak.Out[ak.bf16, T, H],
    dw: ak.Out[ak.f32, 4, H],
    clamp: ak.f32,
):
    """Differentiate x + gate * v, dw in 16 partial sums over tokens."""
    partial = ak.scratch((16, 4, H), ak.f32)
    c = H**-0.5
    for p in ak.grid(ak.parts(T, 16)):
        acc = ak.zeros((4, H), ak.f32)
        for t in ak.steps(ak.each(p.start, p.end)):
            xt, kt, gt = x[t, :, :].to(ak.f32), k[t, :, :].to(ak.f32), dout[t, :, :].to(ak.f32)
            st, g, a, b = dot[t, :], gate[t, :], rx[t, :], rk[t, :]
            d = ak.sum(gt * v[t, :].to(ak.f32), axis=1)
            dl = d * g * (1.0 - g) * 0.5 * ak.sqrt(c * a * b / ak.abs(st))
            dl = ak.where(ak.abs(st) * c * a * b < clamp, 0.0, dl)[:, None]
            dv[t, :] = ak.sum(gt * g[:, None], axis=0).to(ak.bf16)
            dx[t, :, :] = (gt + dl * (kt * w[:, :] - xt * (st * a * a / H)[:, None])).to(ak.bf16)
            dk[t, :, :] = (dl * (xt * w[:, :] - kt * (st * b * b / H)[:, None])).to(ak.bf16)
            acc = acc + dl * xt * kt
        partial[p.ordinal, :, :] = acc
    for h in ak.grid(H):
        dw[:, h] = ak.sum(partial[:, :, h], axis=0)
