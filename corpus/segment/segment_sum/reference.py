"""Sums of slices in float64, one segment at a time, rounded at the end."""

import torch


def reference(x: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the sums of the rows of x (T, H) between neighbouring offsets (S + 1)."""
    return reference_f64(x, offsets).to(torch.float32)


def reference_f64(x: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the same before the last rounding."""
    total = torch.zeros(len(offsets) - 1, x.shape[1], dtype=torch.float64)
    bounds = offsets.tolist()
    for number, (first, end) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        total[number] = x[first:end].double().sum(dim=0)
    return total
