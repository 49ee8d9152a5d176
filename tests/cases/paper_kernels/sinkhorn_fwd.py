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
def sinkhorn_fwd(a: ak.In[ak.f32, T, 4, 4], y: ak.Out[ak.f32, T, 4, 4]):
    """Ten Sinkhorn iterations on each 4 x 4 matrix."""
    for t in ak.grid(T):
        y[t, :, :] = sinkhorn_states(a[t, :, :])[-1]
