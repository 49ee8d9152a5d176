"""Cut a fused projection into queries, keys and values, head by head."""

import agentkern as ak

B, S = ak.dim("B"), ak.dim("S")
Q, K, D = ak.static("Q"), ak.static("K"), ak.static("D")


@ak.kernel
def split_heads(
    qkv: ak.In[ak.bf16, B, S, (Q + 2 * K) * D],
    q: ak.Out[ak.bf16, B, Q, S, D],
    k: ak.Out[ak.bf16, B, K, S, D],
    v: ak.Out[ak.bf16, B, K, S, D],
):
    """Move Q query heads, K key heads and K value heads of D elements from tokens' rows to sequences of their own."""
    heads = qkv.reshape(B, S, Q + 2 * K, D)
    for b, s in ak.grid(B, S):
        q[b, :, s, :] = heads[b, s, :Q, :].transpose(0, 2, 1, 3)
        k[b, :, s, :] = heads[b, s, Q : Q + K, :].transpose(0, 2, 1, 3)
        v[b, :, s, :] = heads[b, s, Q + K :, :].transpose(0, 2, 1, 3)
