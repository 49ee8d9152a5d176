"""The clamped, interleaved SwiGLU gate in float64, rounded at the end."""

import torch


def reference(x: torch.Tensor, alpha: float = 1.702, limit: float = 7.0) -> torch.Tensor:
    """Return (T, H) from gates in the even and values in the odd columns of x (T, 2 * H)."""
    return reference_f64(x, alpha, limit).to(x.dtype)


def reference_f64(x: torch.Tensor, alpha: float = 1.702, limit: float = 7.0) -> torch.Tensor:
    """Return the same before the last rounding."""
    gate = x[:, 0::2].double().clamp(max=limit)
    up = x[:, 1::2].double().clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
