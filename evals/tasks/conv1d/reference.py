"""Shifted rows, weighted, in float64, rounded at the end."""

import torch
from torch.nn import functional


def reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Slide w (F, K) over x (N, L)."""
    return reference_f64(x, w).float()


def reference_f64(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return the same before the rounding."""
    rows, weights = x.double(), w.double()
    found = torch.zeros(len(rows), len(weights), rows.shape[1], dtype=torch.float64)
    for k in range(weights.shape[1]):
        kept = max(rows.shape[1] - k, 0)
        found[:, :, :kept] += rows[:, None, k : k + kept] * weights[None, :, k, None]
    return found


def baseline(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return the same by the library's convolution in f32; TF32, where it is used, holds f16 whole."""
    padded = functional.pad(x.float(), (0, w.shape[1] - 1))
    return functional.conv1d(padded[:, None], w.float()[:, None])
