"""The same embedding as a PyTorch user writes it, in f32, in place."""

import torch


def rope_interleaved(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn the last R elements of each head of x (T, N, D + R), neighbours by the angles of the token's position."""
    part = x[:, :, x.shape[2] - 2 * cos.shape[1] :]
    even, odd = part.float().unflatten(2, (-1, 2)).unbind(dim=3)
    c, s = cos[position].unsqueeze(1), sin[position].unsqueeze(1)
    part.copy_(torch.stack((even * c - odd * s, odd * c + even * s), dim=3).flatten(2))
    return x
