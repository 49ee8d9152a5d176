"""Causal softmax in float64, one query's visible keys at a time, rounded at the end."""

import torch


def reference(scores: torch.Tensor, scale: float = 0.125) -> torch.Tensor:
    """Return the probabilities (B, S, S) of scaled scores, 0 above the diagonal."""
    return reference_f64(scores, scale).to(scores.dtype)


def reference_f64(scores: torch.Tensor, scale: float = 0.125) -> torch.Tensor:
    """Return the same before the last rounding."""
    out = torch.zeros(scores.shape, dtype=torch.float64)
    for i in range(scores.shape[1]):
        out[:, i, : i + 1] = torch.softmax(scores[:, i, : i + 1].double() * scale, dim=-1)
    return out
