"""One step of SGD with momentum in place, with or without Nesterov's look ahead."""

import agentkern as ak

N = ak.dim("N")


@ak.kernel
def sgd_momentum(
    p: ak.InOut[ak.f32, N],
    m: ak.InOut[ak.f32, N],
    grad: ak.In[ak.bf16, N],
    lr: ak.f32 = 1e-2,
    momentum: ak.f32 = 0.9,
    weight_decay: ak.f32 = 1e-4,
    nesterov: ak.static_bool = False,
):
    """Update N parameters and their momentum buffer."""
    for i in ak.grid(N):
        g = grad[i].to(ak.f32) + weight_decay * p[i]
        new = momentum * m[i] + g
        step = g + momentum * new if nesterov else new
        p[i] = p[i] - lr * step
        m[i] = new
