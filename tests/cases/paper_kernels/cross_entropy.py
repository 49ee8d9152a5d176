import agentkern as ak

N = ak.dim("N")
T = ak.dim("T")


@ak.kernel
def cross_entropy(
    x: ak.In[ak.bf16, T, N], target: ak.In[ak.i64, T], loss: ak.Out[ak.f32, T], lse: ak.Out[ak.f32, T]
):
    """Log-sum-exp of each row of x (T, N) in one pass, minus the target's logit; loss 0 for a target outside."""
    for t in ak.grid(T):
        top = ak.full((t,), -ak.inf, ak.f32)
        total = ak.zeros((t,), ak.f32)
        for c in ak.steps(N, block=4096):
            v = x[t, c].to(ak.f32)
            new = ak.maximum(top, ak.max(v, axis=1))
            safe = ak.where(new > -ak.inf, new, 0.0)                                    # never -inf minus -inf
            total = total * ak.exp(top - safe) + ak.sum(ak.exp(v - safe[:, None]), axis=1)
            top = new
        y = target[t]
        ok = (y >= 0) & (y < N)
        hit = ak.load(x[t.index, y], where=ok, fill=0).to(ak.f32)
        lse[t] = ak.log(total) + top
        loss[t] = ak.where(ok, ak.log(total) + top - hit, 0.0)
