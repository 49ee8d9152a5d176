"""Routing by a stable sort of whole rows and a softmax in float64, rounded at the end."""

import torch


def reference(logits: torch.Tensor, K: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the softmax weights of the K largest of each row of logits (T, E), and which they are."""
    weight, expert = reference_f64(logits, K)
    return weight.to(torch.float32), expert


def reference_f64(logits: torch.Tensor, K: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same with weights before the last rounding."""
    values, places = logits.double().sort(dim=1, descending=True, stable=True)
    return torch.softmax(values[:, :K], dim=1), places[:, :K].to(torch.int32)
