"""Root-mean-square norm of every head of queries and keys, in place, in bf16."""

import agentkern as ak

T = ak.dim("T")
Q, K, D = ak.static("Q"), ak.static("K"), ak.static("D")


@ak.inline
def normed(heads, weight, eps):
    v = heads.to(ak.f32)
    scale = ak.rsqrt(ak.mean(v * v, axis=2, keepdims=True) + eps)
    return (v * scale * weight.to(ak.f32)).to(ak.bf16)


@ak.kernel
def qk_norm(
    qkv: ak.InOut[ak.bf16, T, Q + 2 * K, D],
    q_weight: ak.In[ak.bf16, D],
    k_weight: ak.In[ak.bf16, D],
    eps: ak.f32 = 1e-6,
):
    """Normalise the Q query heads and K key heads of T tokens in place; the K value heads behind them stay."""
    for t in ak.grid(T):
        qkv[t, :Q, :] = normed(qkv[t, :Q, :], q_weight[:], eps)
        qkv[t, Q : Q + K, :] = normed(qkv[t, Q : Q + K, :], k_weight[:], eps)
