"""The same pooling as a PyTorch user writes it."""

import torch


def avg_pool2d(x: torch.Tensor) -> torch.Tensor:
    """Return the means of 2 by 2 patches of x (N, 2 * Y, 2 * X)."""
    return torch.nn.functional.avg_pool2d(x, 2)
