"""The same step as a PyTorch user writes it, in f32 and back."""

import torch


def lion(
    p: torch.Tensor,
    m: torch.Tensor,
    grad: torch.Tensor,
    lr: float = 1e-4,
    beta1: float = 0.9,
    beta2: float = 0.99,
    weight_decay: float = 1e-1,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Update p (N) and m (N) in place."""
    g, old = grad.float(), m.float()
    direction = (beta1 * old + (1.0 - beta1) * g).sign()
    p.copy_(p.float() * (1.0 - lr * weight_decay) - lr * direction)
    m.copy_(beta2 * old + (1.0 - beta2) * g)
    return p, m
