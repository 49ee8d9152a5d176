"""One step in NumPy's float32, which rounds every operation and fuses none."""

import numpy as np
import torch


def reference(
    p: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    grad: torch.Tensor,
    correction1: float,
    correction2: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the new p, m and v (N)."""
    single = [np.float32(s) for s in (correction1, correction2, lr, beta1, beta2, eps, weight_decay)]
    c1, c2, rate, b1, b2, least, decay = single
    one, g = np.float32(1), grad.numpy()
    with np.errstate(all="ignore"):
        mean = m.numpy() * b1 + g * (one - b1)
        square = v.numpy() * b2 + g * g * (one - b2)
        update = mean / c1 / (np.sqrt(square / c2) + least)
        moved = p.numpy() * (one - rate * decay) - rate * update
    return torch.from_numpy(moved), torch.from_numpy(mean), torch.from_numpy(square)


def baseline(
    p: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    grad: torch.Tensor,
    correction1: float,
    correction2: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the new p, m and v in PyTorch's f32."""
    mean = m * beta1 + grad * single(1 - single(beta1))
    square = v * beta2 + grad * grad * single(1 - single(beta2))
    update = mean / correction1 / ((square / correction2).sqrt() + eps)
    kept = single(1 - single(single(lr) * single(weight_decay)))
    return p * kept - update * lr, mean, square


def single(number: float) -> float:
    """Round to the 24 bits of f32, on the host and without a tensor."""
    shifted = number * (2.0**29 + 1)
    return shifted - (shifted - number)
