"""The same step as a PyTorch user writes it, in place, and second moments as they occur."""

import torch


def adamw(
    p: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    grad: torch.Tensor,
    correction1: float,
    correction2: float,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Update p (N), m (N) and v (N) in place."""
    wide = grad.float()
    m.mul_(beta1).add_(wide, alpha=1.0 - beta1)
    v.mul_(beta2).addcmul_(wide, wide, value=1.0 - beta2)
    update = (m / correction1) / ((v / correction2).sqrt() + eps)
    p.mul_(1.0 - lr * weight_decay).add_(update, alpha=-lr)
    return p, m, v


adamw_bf16 = adamw


def prepare(given: dict[str, object]) -> dict[str, object]:
    """Make the second moments what averages of squares are: not negative."""
    v = given["v"]
    assert isinstance(v, torch.Tensor)
    return {**given, "v": v.abs()}
