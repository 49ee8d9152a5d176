"""Softmax in float64 with minus infinity above the diagonal, rounded at the end."""

import torch


def reference(scores: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the probabilities (B, S, S)."""
    return reference_f64(scores, scale).to(scores.dtype)


def reference_f64(scores: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the same before the rounding."""
    later = torch.ones(scores.shape[1:], dtype=torch.bool).triu(diagonal=1)
    wide = scores.double() * float(torch.tensor(scale))
    return torch.softmax(wide.masked_fill(later, -torch.inf), dim=2)


def baseline(scores: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the same in PyTorch's f32."""
    later = torch.ones(scores.shape[1:], dtype=torch.bool, device=scores.device).triu(diagonal=1)
    masked = (scores.float() * scale).masked_fill(later, -torch.inf)
    return torch.softmax(masked, dim=2).to(scores.dtype)
