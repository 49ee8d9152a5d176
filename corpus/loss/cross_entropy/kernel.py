"""Cross entropy of rows of logits against one class each, in a single pass over rows of any length."""

import agentkern as ak

T = ak.dim("T")
V = ak.static("V")
RESIDENT = 8192  # up to here a row stays on the chip, and one value is the shortest way to say it


@ak.kernel
def cross_entropy(
    logits: ak.In[ak.bf16, T, V],
    targets: ak.In[ak.i64, T].values(0, V, ignore=-100),
    loss: ak.Out[ak.f32, T],
):
    """For each of T rows of V logits give log(sum(exp(row))) - row[target]; 0 where the target is -100."""
    for t in ak.grid(T):
        if V <= RESIDENT:
            row = logits[t, :].to(ak.f32)
            top = ak.max(row, axis=1)
            safe = ak.where(top > -ak.inf, top, 0.0)
            total = ak.sum(ak.exp(row - safe[:, None]), axis=1)
        else:
            top = ak.full((t,), -ak.inf, ak.f32)
            total = ak.zeros((t,), ak.f32)
            for c in ak.steps(V, block=4096):
                part = logits[t, c].to(ak.f32)
                new = ak.maximum(top, ak.max(part, axis=1))
                safe = ak.where(new > -ak.inf, new, 0.0)
                total = total * ak.exp(top - safe) + ak.sum(ak.exp(part - safe[:, None]), axis=1)
                top = new
        target = targets[t]
        counted = target >= 0
        picked = ak.load(logits[t.index, target], where=counted, fill=0).to(ak.f32)
        loss[t] = ak.where(counted, ak.log(total) + (top - picked), 0.0)
