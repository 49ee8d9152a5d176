"""The same bias as a PyTorch user writes it."""

import torch


def alibi_bias(scores: torch.Tensor, slopes: torch.Tensor, scale: float = 0.125) -> torch.Tensor:
    """Return scale * scores (B, N, S, L) less a head's slope (N) times the distance of query and key."""
    queries, keys = scores.shape[2:]
    places = torch.arange(keys - queries, keys, device=scores.device).unsqueeze(1)
    distance = (places - torch.arange(keys, device=scores.device)).abs().float()
    return (scores.float() * scale - slopes[:, None, None] * distance).to(scores.dtype)
