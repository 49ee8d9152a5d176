"""The same probabilities as a PyTorch user writes them."""

import torch


def causal_softmax(scores: torch.Tensor, scale: float = 0.125) -> torch.Tensor:
    """Return the probabilities (B, S, S) of scaled scores, 0 above the diagonal."""
    size = scores.shape[-1]
    hidden = torch.ones(size, size, dtype=torch.bool, device=scores.device).triu(1)
    masked = (scores.float() * scale).masked_fill(hidden, -torch.inf)
    return torch.softmax(masked, dim=-1).to(scores.dtype)
