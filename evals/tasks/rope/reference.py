"""The rotation head by head in NumPy's float32, which never fuses a product with a sum; then bf16."""

import numpy as np
import torch


def reference(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate x (B, S, N, D) by the angles of cos and sin (S, D / 2)."""
    half = x.shape[-1] // 2
    wide, c, s = x.float().numpy(), cos.numpy()[:, None, :], sin.numpy()[:, None, :]
    first, second = wide[..., :half], wide[..., half:]
    with np.errstate(all="ignore"):
        turned = np.concatenate((first * c - second * s, second * c + first * s), axis=-1)
    return torch.from_numpy(turned).to(x.dtype)


def baseline(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return the rotation in PyTorch's f32."""
    first, second = x.float().chunk(2, dim=3)
    c, s = cos[:, None], sin[:, None]
    return torch.cat((first * c - second * s, second * c + first * s), dim=3).to(x.dtype)
