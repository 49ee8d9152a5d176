"""The gradients of a root-mean-square norm in float64 by automatic differentiation, rounded at the end."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def reference(x: torch.Tensor, weight: torch.Tensor, dout: torch.Tensor, eps: float = 1e-6) -> Pair:
    """Return the gradients of x (T, H) and weight (H)."""
    dx, dweight = reference_f64(x, weight, dout, eps)
    return dx.to(x.dtype), dweight.to(weight.dtype)


def reference_f64(x: torch.Tensor, weight: torch.Tensor, dout: torch.Tensor, eps: float = 1e-6) -> Pair:
    """Return the same before the last roundings."""
    row, w = x.double().requires_grad_(), weight.double().requires_grad_()
    normed = row / (row.square().mean(dim=-1, keepdim=True) + eps).sqrt() * w
    dx, dweight = torch.autograd.grad(normed, (row, w), dout.double())
    return dx, dweight
