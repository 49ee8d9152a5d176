"""A gated linear recurrence one step at a time: product and sum each in float64, rounded to float32.

Rounding twice, to 53 bits and then to 24, gives the once-rounded result, because 53 >= 2 * 24 + 2.
"""

import torch


def reference(a: torch.Tensor, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last h (B, H) and every h (B, T, H) of h = a * h + x, which begins with state (B, H)."""
    carried = state.clone()
    out = torch.empty_like(x)
    for time in range(x.shape[1]):
        product = (a[:, time].double() * carried.double()).float()
        carried = (product.double() + x[:, time].double()).float()
        out[:, time] = carried
    return carried, out
