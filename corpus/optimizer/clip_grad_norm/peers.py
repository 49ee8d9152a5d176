"""The same clipping as a PyTorch user writes it, without a word from the host."""

import torch


def clip_grad_norm(grad: torch.Tensor, largest: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Scale the gradients (N) in place; return them and the norm (1) that they had."""
    norm = torch.linalg.vector_norm(grad).reshape(1)
    grad.mul_((largest / (norm + 1e-6)).clamp(max=1.0))
    return grad, norm
