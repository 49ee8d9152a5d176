"""The same gate as a PyTorch user writes it, in f32."""

import torch


def swiglu_clamp(x: torch.Tensor, alpha: float = 1.702, limit: float = 7.0) -> torch.Tensor:
    """Return (T, H) from gates in the even and values in the odd columns of x (T, 2 * H)."""
    gate = x[:, 0::2].float().clamp(max=limit)
    up = x[:, 1::2].float().clamp(-limit, limit)
    return (gate * torch.sigmoid(alpha * gate) * (up + 1)).to(x.dtype)
