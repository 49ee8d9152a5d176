"""Root-mean-square norm of query and key heads in float64, rounded at the end."""

import torch


def reference(
    qkv: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    Q: int,
    K: int,
    eps: float = 1e-6,
) -> torch.Tensor:
    """Return qkv (T, Q + 2 * K, D) with its first Q heads scaled by q_weight (D) and the next K by k_weight (D)."""
    return reference_f64(qkv, q_weight, k_weight, Q, K, eps).to(qkv.dtype)


def reference_f64(
    qkv: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    Q: int,
    K: int,
    eps: float = 1e-6,
) -> torch.Tensor:
    """Return the same before the last rounding."""
    wide = qkv.double()
    rms = (wide.square().mean(dim=2, keepdim=True) + eps).sqrt()
    weights = [q_weight.double()] * Q + [k_weight.double()] * K
    for head, weight in enumerate(weights):
        wide[:, head] = wide[:, head] / rms[:, head] * weight
    return wide
