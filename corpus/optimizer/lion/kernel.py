"""One step of Lion in place."""

import agentkern as ak

N = ak.dim("N")


@ak.kernel
def lion(
    p: ak.InOut[ak.bf16, N],
    m: ak.InOut[ak.bf16, N],
    grad: ak.In[ak.bf16, N],
    lr: ak.f32 = 1e-4,
    beta1: ak.f32 = 0.9,
    beta2: ak.f32 = 0.99,
    weight_decay: ak.f32 = 1e-1,
):
    """Move N parameters by lr against the sign of a mixture of momentum and gradient; mix the momentum anew."""
    for i in ak.grid(N):
        g, old = grad[i].to(ak.f32), m[i].to(ak.f32)
        direction = ak.sign(beta1 * old + (1.0 - beta1) * g)
        kept = p[i].to(ak.f32) * (1.0 - lr * weight_decay)
        p[i] = (kept - lr * direction).to(ak.bf16)
        m[i] = (beta2 * old + (1.0 - beta2) * g).to(ak.bf16)
