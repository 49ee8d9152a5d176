"""The same step as a PyTorch user writes it, in place."""

import torch


def sgd_momentum(
    p: torch.Tensor,
    m: torch.Tensor,
    grad: torch.Tensor,
    lr: float = 1e-2,
    momentum: float = 0.9,
    weight_decay: float = 1e-4,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Update p (N) and m (N) in place."""
    m.mul_(momentum).add_(grad.float() + weight_decay * p)
    return p.add_(m, alpha=-lr), m
