"""The same gradients as a PyTorch user gets them, written out in f32."""

import torch


def rms_norm_backward(
    x: torch.Tensor, weight: torch.Tensor, dout: torch.Tensor, eps: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of x (T, H) and weight (H)."""
    row, upper = x.float(), dout.float()
    scale = torch.rsqrt(row.square().mean(dim=-1, keepdim=True) + eps)
    normed, d = row * scale, upper * weight.float()
    dx = (d - normed * (d * normed).mean(dim=-1, keepdim=True)) * scale
    return dx.to(x.dtype), (upper * normed).sum(dim=0).to(weight.dtype)
