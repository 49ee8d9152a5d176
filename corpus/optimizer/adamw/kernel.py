"""One step of AdamW in place, for parameters in f32 and in bf16."""

import agentkern as ak

N = ak.dim("N")


@ak.inline
def moments(m, v, grad, beta1, beta2):
    return m * beta1 + grad * (1.0 - beta1), v * beta2 + grad * grad * (1.0 - beta2)


@ak.inline
def stepped(p, m, v, correction1, correction2, lr, eps, weight_decay):
    update = (m / correction1) / (ak.sqrt(v / correction2) + eps)
    return p * (1.0 - lr * weight_decay) - lr * update


@ak.kernel
def adamw(
    p: ak.InOut[ak.f32, N],
    m: ak.InOut[ak.f32, N],
    v: ak.InOut[ak.f32, N],
    grad: ak.In[ak.f32, N],
    correction1: ak.f32,
    correction2: ak.f32,
    lr: ak.f32 = 1e-3,
    beta1: ak.f32 = 0.9,
    beta2: ak.f32 = 0.999,
    eps: ak.f32 = 1e-8,
    weight_decay: ak.f32 = 1e-2,
):
    """Update N parameters and their two moments; correction1 is 1 - beta1**step, correction2 is 1 - beta2**step."""
    for i in ak.grid(N):
        new_m, new_v = moments(m[i], v[i], grad[i], beta1, beta2)
        p[i] = stepped(p[i], new_m, new_v, correction1, correction2, lr, eps, weight_decay)
        m[i], v[i] = new_m, new_v


@ak.kernel
def adamw_bf16(
    p: ak.InOut[ak.bf16, N],
    m: ak.InOut[ak.f32, N],
    v: ak.InOut[ak.f32, N],
    grad: ak.In[ak.bf16, N],
    correction1: ak.f32,
    correction2: ak.f32,
    lr: ak.f32 = 1e-3,
    beta1: ak.f32 = 0.9,
    beta2: ak.f32 = 0.999,
    eps: ak.f32 = 1e-8,
    weight_decay: ak.f32 = 1e-2,
):
    """Update as adamw does; parameters and gradients are bf16, moments and arithmetic f32."""
    for i in ak.grid(N):
        new_m, new_v = moments(m[i], v[i], grad[i].to(ak.f32), beta1, beta2)
        p[i] = stepped(p[i].to(ak.f32), new_m, new_v, correction1, correction2, lr, eps, weight_decay).to(ak.bf16)
        m[i], v[i] = new_m, new_v
