import agentkern as ak

T, P = ak.dim("T"), ak.dim("P")
G, H, K = ak.static("G"), ak.static("H"), ak.static("K")


@ak.kernel
def swiglu_backward_and_per_token_cast(
    x: ak.In[ak.e4m3, P, 2 * H],
    x_sf: ak.In[ak.f32, P, 2 * H // G],
    do: ak.In[ak.bf16, P, H],
    weight: ak.In[ak.f32, T, K],
    pos_to_token_topk: ak.In[ak.i32, P].values(-1, T * K).distinct(ignore=-1),
    out: ak.Out[ak.bf16, P, H],
    q: ak.Out[ak.e4m3, P, 2 * H],
    q_sf: ak.Out[ak.f32, P, 2 * H // G],
    dx: ak.Out[ak.bf16, P, 2 * H],
    dw: ak.Out[ak.f32, T, K],
):
    """Gradient of swiglu over rows (P, 2H) quantised in groups of G, itself also quantised; dw (T, K) is 0 where
    unused. Without clamping."""
    for t in ak.grid(T):
        dw[t, :] = 0.0
    for p in ak.grid(P):
        slot = pos_to_token_topk[p]
        w = ak.load(weight.reshape(T * K)[slot], where=slot >= 0, fill=0)[:, None]
        v = (x[p, :].to(ak.f32).reshape(p, 2 * H // G, G) * x_sf[p, :, None]).reshape(p, 2 * H)
        left, right = v[:, :H], v[:, H:]
        grad = do[p, :].to(ak.f32)
        denominator = 1.0 + ak.exp(-left)
        s = 1.0 / denominator
        act = left / denominator * right
        g = grad * w * s
        both = ak.concat((g * right * ak.fma(left, 1.0 - s, 1.0), g * left), axis=1)
        grouped = both.reshape(p, 2 * H // G, G)
        a = ak.maximum(ak.absmax(grouped, axis=2), 1e-4)
        out[p, :] = (act * w).to(ak.bf16)
        dx[p, :] = both.to(ak.bf16)
        q[p, :] = (grouped * (448.0 / a)[:, :, None]).to(ak.e4m3).reshape(p, 2 * H)
        q_sf[p, :] = a / 448.0
        ak.store(dw.reshape(T * K)[slot], ak.sum(grad * act, axis=1), where=slot >= 0)
