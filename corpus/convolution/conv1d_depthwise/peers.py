"""The same convolution as a PyTorch user writes it."""

import torch


def conv1d_depthwise(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return silu of the causal convolution of x (B, T, C) with weight (W, C) plus bias (C)."""
    width, channels = weight.shape
    filters = weight.T.reshape(channels, 1, width).to(x.dtype)
    total = torch.nn.functional.conv1d(x.transpose(1, 2), filters, bias.to(x.dtype), padding=width - 1, groups=channels)
    return torch.nn.functional.silu(total[..., : x.shape[1]].transpose(1, 2))
