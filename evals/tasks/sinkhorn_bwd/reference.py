"""torch's own automatic differentiation in float64."""

import torch

EPS = float(torch.tensor(1e-6))


def reference(a: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Return the gradient (T, 4, 4) with respect to a."""
    return reference_f64(a, dy).float()


def reference_f64(a: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Return the same before the rounding."""
    given = a.double().requires_grad_()
    y = torch.softmax(given, dim=2)
    for axis in (1, 2, 1):
        y = y / (y.sum(dim=axis, keepdim=True) + EPS)
    return torch.autograd.grad(y, given, dy.double())[0]
