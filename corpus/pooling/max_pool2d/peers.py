"""The same pooling as a PyTorch user writes it."""

import torch


def max_pool2d(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest pixels of 3 by 3 patches of x (N, 2 * Y, 2 * X), and their numbers."""
    return torch.nn.functional.max_pool2d(x, 3, stride=2, padding=1, return_indices=True)
