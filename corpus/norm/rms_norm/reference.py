"""Root-mean-square norm in float64, rounded at the end."""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Normalise each row of x (T, H) and scale by weight (H)."""
    return reference_f64(x, weight, eps).to(x.dtype)


def reference_f64(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Return the same before the last rounding."""
    wide = x.double()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return wide / (mean_square + eps).sqrt() * weight.double()
