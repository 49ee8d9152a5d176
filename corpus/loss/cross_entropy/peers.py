"""The same loss as a PyTorch user writes it."""

import torch


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the loss (T) of logits (T, V) against classes (T), by the library's own function in f32."""
    return torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none", ignore_index=-100)
