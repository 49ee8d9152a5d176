"""The weighted sum of a token's rows in slot order, each step a fused multiply-add rounded once.

Torch has no fused multiply-add to call: the exact product of a bf16 and an f32 fits float64; the sum is rounded to odd
there (the inexact last bit is set), so that rounding it again, to float32, gives the once-rounded sum.
"""

import torch


def reference(
    x: torch.Tensor,
    position: torch.Tensor,
    weight: torch.Tensor | None = None,
    x_scale: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return (T, H): rows of x (P, H) at position (T, K), -1 for none; bf16, with a scale e4m3."""
    tokens, slots = position.shape
    total = torch.zeros(tokens, x.shape[1], dtype=torch.float32)
    for slot in range(slots):
        there = (position[:, slot] >= 0).nonzero().flatten()
        place = position[there, slot].long()
        factor = torch.ones(len(there)) if weight is None else weight[there, slot]
        if x_scale is not None:
            factor = (factor.double() * x_scale[place].double()).float()
        total[there] = _fma(x[place], factor[:, None], total[there])
    if scale is None:
        return total.to(torch.bfloat16)
    scaled = (total.double() * scale.double()).float()
    return scaled.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)


def _fma(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Return a * b + c in float32, rounded once."""
    product, addend = a.double() * b.double(), c.double()
    total = product + addend
    back = total - product
    lost = (product - (total - back)) + (addend - back)
    even = total.view(torch.int64) % 2 == 0
    toward = torch.where(lost > 0, torch.inf, -torch.inf).double()
    moved = even & (lost != 0) & torch.isfinite(lost)
    return torch.where(moved, torch.nextafter(total, toward), total).float()
