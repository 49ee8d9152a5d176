"""Scores with a linear bias: two products and their difference, each rounded to float32, then to bf16."""

import torch


def reference(scores: torch.Tensor, slopes: torch.Tensor, scale: float = 0.125) -> torch.Tensor:
    """Return scale * scores (B, N, S, L) less a head's slope (N) times the distance of query and key."""
    queries, keys = scores.shape[2:]
    places = torch.arange(keys - queries, keys)
    distance = (places[:, None] - torch.arange(keys)[None, :]).abs().double()
    factor = torch.tensor(scale, dtype=torch.float32).double()
    scaled = (scores.double() * factor).float().double()
    bias = (slopes.double()[:, None, None] * distance).float().double()
    return (scaled - bias).float().to(scores.dtype)
