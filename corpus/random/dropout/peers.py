"""The same operation as a PyTorch user writes it, with random numbers of its own."""

import torch


def dropout(x: torch.Tensor, seed: int, p: float = 0.1) -> torch.Tensor:
    """Return x (4 * N) with a share p of its elements 0 and the others divided by 1 - p; the seed is PyTorch's own."""
    return torch.nn.functional.dropout(x, p, training=True)
