"""One step of AdamW: every operation in float64, rounded once to float32.

Rounding the sum, product, quotient or square root of float32 numbers twice, to 53 bits and then to 24, gives the
once-rounded one, because 53 >= 2 * 24 + 2. Scalars are float32 numbers, and so is what is computed from them.
"""

from collections.abc import Callable

import torch

Tensor = torch.Tensor


def reference(
    p: Tensor,
    m: Tensor,
    v: Tensor,
    grad: Tensor,
    correction1: float,
    correction2: float,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the new p (N), m (N) and v (N), the first in its own dtype."""
    one = torch.tensor(1.0)
    scalars = (correction1, correction2, lr, beta1, beta2, eps, weight_decay)
    c1, c2, rate, b1, b2, least, decay = (torch.tensor(s, dtype=torch.float32) for s in scalars)
    g = grad.float()
    m = _add(_mul(m, b1), _mul(g, _sub(one, b1)))
    v = _add(_mul(v, b2), _mul(_mul(g, g), _sub(one, b2)))
    root = _div(v, c2).double().sqrt().float()
    update = _div(_div(m, c1), _add(root, least))
    new = _sub(_mul(p.float(), _sub(one, _mul(rate, decay))), _mul(rate, update))
    return new.to(p.dtype), m, v


def _rounded(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda a, b: function(a.double(), b.double()).float()


_add, _sub, _mul, _div = (_rounded(f) for f in (torch.add, torch.sub, torch.mul, torch.div))
