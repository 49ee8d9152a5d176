"""The gradient of a cross entropy in place: rows of logits become rows of their gradients."""

import agentkern as ak

T = ak.dim("T")
V = ak.static("V")


@ak.kernel
def cross_entropy_backward(
    logits: ak.InOut[ak.bf16, T, V],
    targets: ak.In[ak.i64, T].values(0, V, ignore=-100),
    dloss: ak.In[ak.f32, T],
    smoothing: ak.f32 = 0.0,
):
    """Replace T rows of V logits by dloss * (softmax(row) - target); the target holds smoothing / V everywhere else."""
    for t in ak.grid(T):
        row = logits[t, :].to(ak.f32)
        e = ak.exp(row - ak.max(row, axis=1, keepdims=True))
        q = e / ak.sum(e, axis=1, keepdims=True)
        target = targets[t][:, None]
        hit = ak.where(ak.arange(V)[None, :] == target, 1.0 - smoothing, 0.0)
        d = (q - hit - smoothing / V) * dloss[t][:, None]
        logits[t, :] = ak.where(target >= 0, d, 0.0).to(ak.bf16)
