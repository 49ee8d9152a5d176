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


def baseline(a: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Return the gradient in PyTorch's f32, by the steps of the definition."""
    start = y = torch.softmax(a, dim=2)
    steps: list[tuple[int, torch.Tensor, torch.Tensor]] = []
    for axis in (1, 2, 1):
        divisor = y.sum(dim=axis, keepdim=True) + EPS
        y = y / divisor
        steps.append((axis, y, divisor))
    d = dy
    for axis, y, divisor in reversed(steps):
        d = (d - (d * y).sum(dim=axis, keepdim=True)) / divisor
    return start * (d - (d * start).sum(dim=2, keepdim=True))
