"""The same routing as a PyTorch user writes it."""

import torch


def topk_softmax(logits: torch.Tensor, K: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the softmax weights of the K largest of each row of logits (T, E), and which they are."""
    values, places = logits.topk(K, dim=1)
    return torch.softmax(values, dim=1), places.to(torch.int32)
