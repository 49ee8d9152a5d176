"""The sum in float32 and bf16, the norm in float64 from the rounded sum, rounded at the end."""

import torch
from torch.nn import functional


def reference(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the new residual (T, H) and its norm, scaled by weight (H)."""
    total, normed = reference_f64(x, residual, weight, eps)
    return total.to(x.dtype), normed.to(x.dtype)


def reference_f64(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same, the norm before its last rounding."""
    total = (residual.float() + x.float()).to(x.dtype).double()
    scale = total.square().mean(dim=1, keepdim=True) + eps
    return total, total / scale.sqrt() * weight.double()


def baseline(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum and its norm by the library's own function."""
    total = residual + x
    return total, functional.rms_norm(total, (x.shape[1],), weight, eps)
