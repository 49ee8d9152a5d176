"""One step of SGD with momentum: every operation in float64, rounded once to float32.

Rounding the sum or product of float32 numbers twice, to 53 bits and then to 24, gives the once-rounded one, because
53 >= 2 * 24 + 2. Scalars are float32 numbers.
"""

import torch

Tensor = torch.Tensor


def reference(
    p: Tensor, m: Tensor, grad: Tensor, lr: float = 1e-2, momentum: float = 0.9, weight_decay: float = 1e-4
) -> tuple[Tensor, Tensor]:
    """Return the new p (N) and m (N), of the plain form."""
    rate, kept, decay = (torch.tensor(s, dtype=torch.float32).double() for s in (lr, momentum, weight_decay))
    decayed = (decay * p.double()).float().double()
    g = (grad.double() + decayed).float().double()
    m = ((kept * m.double()).float().double() + g).float()
    moved = (rate * m.double()).float().double()
    return (p.double() - moved).float(), m
