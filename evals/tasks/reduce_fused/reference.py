"""The sum of a token's rows in slot order, every multiply-add exact in Python's fractions' place: float64 and a correction.

A product of a bf16 and an f32 is exact in float64. The sum of it and an f32 is rounded to odd there (its last bit is set where anything was
lost), so that rounding again, to float32, gives the once-rounded sum.
"""

import numpy as np
import torch


def reference(x: torch.Tensor, position: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor) -> torch.Tensor:
    """Return (T, H): rows of x (P, H) at position (T, K), weighted."""
    rows, scales = x.float().numpy(), x_scale.numpy()
    total = np.zeros((len(position), x.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for token, places in enumerate(position.tolist()):
            for slot, place in enumerate(places):
                if place != -1:
                    factor = weight.numpy()[token, slot] * scales[place]
                    total[token] = fused(rows[place], factor, total[token])
    return torch.from_numpy(total).to(torch.bfloat16)


def fused(a: np.ndarray, b: np.float32, c: np.ndarray) -> np.ndarray:
    """Return a * b + c in float32, rounded once."""
    product, addend = a.astype(np.float64) * np.float64(b), c.astype(np.float64)
    total = product + addend
    back = total - product
    lost = (product - (total - back)) + (addend - back)
    is_even = total.view(np.int64) % 2 == 0
    moved = is_even & (lost != 0) & np.isfinite(lost)
    return np.where(moved, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total).astype(np.float32)


def baseline(x: torch.Tensor, position: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor) -> torch.Tensor:
    """Return the weighted sum in PyTorch's f32, whose order and fusion are the library's."""
    if not len(x):
        return x.new_zeros(len(position), x.shape[1])
    place = position.clamp(min=0)
    terms = x[place].float() * (weight * x_scale[place])[:, :, None]
    return torch.where(position[:, :, None] < 0, 0.0, terms).sum(dim=1).to(x.dtype)
