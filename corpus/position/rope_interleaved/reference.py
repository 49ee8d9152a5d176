"""Rotary embedding of neighbours: two products and their sum, each rounded to float32, then to bf16.

A product of a bf16 and an f32 is exact in float64, and so it is rounded once; the sum of two f32 rounds once as well,
because 53 >= 2 * 24 + 2.
"""

import torch


def reference(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return x (T, N, D + R) with the last R elements of each head turned by the angles of its position."""
    turned = 2 * cos.shape[1]
    kept = x.shape[2] - turned
    out = x.clone()
    for token, place in enumerate(position.tolist()):
        even, odd = x[token, :, kept::2].double(), x[token, :, kept + 1 :: 2].double()
        c, s = cos[place].double(), sin[place].double()
        out[token, :, kept::2] = (_rounded(even * c) - _rounded(odd * s)).float().to(x.dtype)
        out[token, :, kept + 1 :: 2] = (_rounded(odd * c) + _rounded(even * s)).float().to(x.dtype)
    return out


def _rounded(product: torch.Tensor) -> torch.Tensor:
    """Round to float32; give it back as float64."""
    return product.float().double()
