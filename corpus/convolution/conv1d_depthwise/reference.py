"""The convolution by the library in float64 over channels first, then SiLU, rounded at the end."""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return silu of the causal convolution of x (B, T, C) with weight (W, C) plus bias (C)."""
    return reference_f64(x, weight, bias).to(x.dtype)


def reference_f64(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the same before the last rounding."""
    width, channels = weight.shape
    padded = torch.cat((x.new_zeros(x.shape[0], width - 1, channels), x), dim=1).double()
    total = bias.double().expand(x.shape).clone()
    for tap in range(width):
        total = total + padded[:, tap : tap + x.shape[1]] * weight[tap].double()
    return total / (1.0 + torch.exp(-total))
