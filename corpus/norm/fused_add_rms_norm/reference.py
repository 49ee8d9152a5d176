"""A residual addition, rounded to bf16, and the root-mean-square norm of its result in float64, rounded at the end."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def reference(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> Pair:
    """Return residual + x (T, H) and its rows normalised and scaled by weight (H)."""
    total, normed = reference_f64(x, residual, weight, eps)
    return total.to(x.dtype), normed.to(x.dtype)


def reference_f64(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> Pair:
    """Return the same before the last roundings; the norm is that of the rounded sum."""
    total = residual.double() + x.double()
    row = total.float().to(x.dtype).double()
    return total, row / (row.square().mean(dim=-1, keepdim=True) + eps).sqrt() * weight.double()
