"""The gradient of a softmax over rows, from its result."""

import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def softmax_backward(p: ak.In[ak.bf16, T, H], dp: ak.In[ak.bf16, T, H], dx: ak.Out[ak.bf16, T, H]):
    """Give the gradient of T rows of H logits from their probabilities p and the gradient dp of those."""
    for t in ak.grid(T):
        row, d = p[t, :].to(ak.f32), dp[t, :].to(ak.f32)
        dx[t, :] = (row * (d - ak.sum(row * d, axis=1, keepdims=True))).to(ak.bf16)
