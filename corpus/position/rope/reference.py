"""Rotary position embedding: two products and their sum, each rounded to float32, then to bf16.

A product of a bf16 and an f32 is exact in float64, and so it is rounded once; the sum of two f32 rounds once as well,
because 53 >= 2 * 24 + 2.
"""

import torch


def reference(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate x (B, S, N, D) by the angles of cos and sin (S, D / 2)."""
    first, second = (half.double() for half in x.chunk(2, dim=-1))
    c, s = (table.double()[:, None, :] for table in (cos, sin))
    turned = torch.cat((_rounded(first * c) - _rounded(second * s), _rounded(second * c) + _rounded(first * s)), dim=-1)
    return turned.float().to(x.dtype)


def _rounded(product: torch.Tensor) -> torch.Tensor:
    """Round to float32; give it back as float64."""
    return product.float().double()
