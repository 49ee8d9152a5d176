"""The same norm as a PyTorch user writes it."""

import torch

GROUPS = 32


def group_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """Normalise 32 groups of channels of x (B, G * C, S), scale and shift each channel, by the library's own kernel."""
    return torch.nn.functional.group_norm(x, GROUPS, weight, bias, eps)
