"""Clipping by the norm in float64, rounded at the end."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def reference(grad: torch.Tensor, largest: float = 1.0) -> Pair:
    """Return the scaled gradients (N) and the norm (1) that they had."""
    scaled, norm = reference_f64(grad, largest)
    return scaled.float(), norm.float()


def reference_f64(grad: torch.Tensor, largest: float = 1.0) -> Pair:
    """Return the same before the last roundings."""
    wide = grad.double()
    norm = torch.linalg.vector_norm(wide).reshape(1)
    return wide * (largest / (norm + 1e-6)).clamp(max=1.0), norm
