"""The same results as a PyTorch user takes them."""

import torch


def cummax(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each element of x (T, H) the largest up to and with it, and how far below it lies."""
    peak = torch.cummax(x, dim=1).values
    return peak, peak - x
