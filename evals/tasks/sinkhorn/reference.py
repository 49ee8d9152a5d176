"""Every step in float64, rounded at the end."""

import torch

EPS = float(torch.tensor(1e-6))


def reference(a: torch.Tensor) -> torch.Tensor:
    """Return the normalised matrices (T, 4, 4) of a."""
    return reference_f64(a).float()


def reference_f64(a: torch.Tensor) -> torch.Tensor:
    """Return the same before the rounding."""
    y = torch.softmax(a.double(), dim=2) + EPS
    y = y / (y.sum(dim=1, keepdim=True) + EPS)
    for _ in range(9):
        y = y / (y.sum(dim=2, keepdim=True) + EPS)
        y = y / (y.sum(dim=1, keepdim=True) + EPS)
    return y


def baseline(a: torch.Tensor) -> torch.Tensor:
    """Return the matrices in PyTorch's f32."""
    y = torch.softmax(a, dim=2) + EPS
    y = y / (y.sum(dim=1, keepdim=True) + EPS)
    for _ in range(9):
        y = y / (y.sum(dim=2, keepdim=True) + EPS)
        y = y / (y.sum(dim=1, keepdim=True) + EPS)
    return y
