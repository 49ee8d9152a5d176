"""The same normalisation as a PyTorch user writes it; the library adds in an order of its own."""

import torch


def normalize_weight(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return 1e-20 + the sum of each row of weight (T, K), and the row divided by it."""
    denominator = weight.sum(dim=1) + 1e-20
    return denominator, weight / denominator.unsqueeze(1)
