"""The same embedding as a PyTorch user writes it, in f32."""

import torch


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate x (B, S, N, D) by the angles of cos and sin (S, D / 2)."""
    first, second = x.float().chunk(2, dim=-1)
    c, s = cos.unsqueeze(1), sin.unsqueeze(1)
    return torch.cat((first * c - second * s, second * c + first * s), dim=-1).to(x.dtype)
