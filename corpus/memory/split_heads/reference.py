"""Heads of a fused projection, one token and one head at a time."""

import torch

Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def reference(qkv: torch.Tensor, Q: int, K: int, D: int) -> Three:
    """Return queries (B, Q, S, D), keys and values (B, K, S, D) of qkv (B, S, (Q + 2 * K) * D)."""
    batches, tokens, _ = qkv.shape
    outputs = [torch.empty(batches, heads, tokens, D, dtype=qkv.dtype) for heads in (Q, K, K)]
    places = [(out, head) for out in outputs for head in range(out.shape[1])]
    for number, (out, head) in enumerate(places):
        out[:, head] = qkv[:, :, number * D : (number + 1) * D]
    return outputs[0], outputs[1], outputs[2]
