import agentkern as ak

EPS = 1e-06
T = ak.dim("T")


@ak.inline
def sinkhorn_states(a):
    """The softmax of a (t, 4, 4), then the input of each of 19 divisions by column and row sums, then the result."""
    z = ak.exp(a - ak.max(a, axis=2, keepdims=True))
    y = z / ak.sum(z, axis=2, keepdims=True)
    states = (y, y + EPS)
    for i in range(19):
        states = (*states, states[-1] / (ak.sum(states[-1], axis=1 + i % 2, keepdims=True) + EPS))
    return states


@ak.kernel
def sinkhorn_bwd(a: ak.In[ak.f32, T, 4, 4], dy: ak.In[ak.f32, T, 4, 4], da: ak.Out[ak.f32, T, 4, 4]):
    """Gradient of sinkhorn_fwd, from its recomputed history."""
    for t in ak.grid(T):
        states = sinkhorn_states(a[t, :, :])
        g = dy[t, :, :]
        for i in range(18, -1, -1):
            x, axis = states[i + 1], 1 + i % 2
            n = ak.sum(x, axis=axis, keepdims=True) + EPS
            g = g / n - ak.sum(g * x, axis=axis, keepdims=True) / (n * n)
        da[t, :, :] = states[0] * (g - ak.sum(g * states[0], axis=2, keepdims=True))
