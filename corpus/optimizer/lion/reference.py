"""One step of Lion: every operation in float64, rounded once to float32, and the results to bf16.

Rounding the sum or product of float32 numbers twice, to 53 bits and then to 24, gives the once-rounded one, because
53 >= 2 * 24 + 2. Scalars are float32 numbers, and so is what is computed from them.
"""

from collections.abc import Callable

import torch

Tensor = torch.Tensor


def reference(
    p: Tensor,
    m: Tensor,
    grad: Tensor,
    lr: float = 1e-4,
    beta1: float = 0.9,
    beta2: float = 0.99,
    weight_decay: float = 1e-1,
) -> tuple[Tensor, Tensor]:
    """Return the new p (N) and m (N)."""
    one = torch.tensor(1.0)
    rate, b1, b2, decay = (torch.tensor(s, dtype=torch.float32) for s in (lr, beta1, beta2, weight_decay))
    mixed = _add(_mul(b1, m), _mul(_sub(one, b1), grad))
    direction = torch.where(torch.isnan(mixed), mixed, torch.sign(mixed))
    kept = _mul(p, _sub(one, _mul(rate, decay)))
    new_p = _sub(kept, _mul(rate, direction))
    return new_p.to(p.dtype), _add(_mul(b2, m), _mul(_sub(one, b2), grad)).to(m.dtype)


def _rounded(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda a, b: function(a.double(), b.double()).float()


_add, _sub, _mul = (_rounded(f) for f in (torch.add, torch.sub, torch.mul))
