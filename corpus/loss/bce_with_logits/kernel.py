"""Binary cross entropy of logits against yes or no, element by element, in f32."""

import agentkern as ak

T, C = ak.dim("T"), ak.dim("C")


@ak.kernel
def bce_with_logits(
    x: ak.In[ak.f32, T, C],
    target: ak.In[ak.bool, T, C],
    pos_weight: ak.In[ak.f32, C] | None,
    loss: ak.Out[ak.f32, T, C],
):
    """Give -log(sigmoid(x)) times pos_weight where the target of T rows of C labels is true, else -log(sigmoid(-x))."""
    for t, c in ak.grid(T, C):
        v, yes = x[t, c], target[t, c]
        each = ak.softplus(ak.where(yes, -v, v))
        if pos_weight is not None:
            each = ak.where(yes, each * pos_weight[c], each)
        loss[t, c] = each
