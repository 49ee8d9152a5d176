import agentkern as ak

H = ak.static("H")
T = ak.dim("T")


@ak.kernel
def engram_gate_bwd(
    x: ak.In[ak.bf16, T, 4, H],
    k: ak.In[ak.bf16, T, 4, H],
    v: ak.In[ak.bf16, T, H],
    w: ak.In[ak.f32, 4, H],
    do: ak.In[ak.bf16, T, 4, H],
    dot: ak.In[ak.f32, T, 4],
    gate: ak.In[ak.f32, T, 4],
    rx: ak.In[ak.f32, T, 4],
    rk: ak.In[ak.f32, T, 4],
    dx: ak.Out[ak.bf16, T, 4, H],
    dk: ak.Out[ak.bf16, T, 4, H],
    dv: ak.Out[ak.bf16, T, H],
    dw: ak.Out[ak.f32, 4, H],
    clamp: ak.f32 = 1e-6,
    parts: ak.static_int = 128,
):
    """Gradients of x + sigmoid(signed sqrt of a normed dot) * v; dw (4, H) sums over T in `parts` partial sums."""
    partial = ak.scratch((parts, 4, H), ak.f32)
    c = H**-0.5
    for p in ak.grid(ak.parts(T, parts)):
        acc = ak.zeros((4, H), ak.f32)
        for t in ak.steps(ak.each(p.start, p.end)):
            xt, kt, gt = x[t, :, :].to(ak.f32), k[t, :, :].to(ak.f32), do[t, :, :].to(ak.f32)
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
