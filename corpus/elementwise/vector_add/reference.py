"""The sum of two vectors in float64, rounded once to the inputs' dtype.

A float64 holds the sum of two f32 or bf16 values of nearby magnitude exactly; where it does not, rounding twice (to 53
bits, then to 24 or 8) still gives the once-rounded sum, because 53 >= 2 * 24 + 2.
"""

import torch


def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add two vectors of N elements of one dtype."""
    return _round(reference_f64(x, y), x.dtype)


def reference_f64(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add in float64."""
    return x.double() + y.double()


def _round(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Round float64 once to `dtype`; torch alone would go to bf16 through float32, which rounds twice."""
    single = wide.float()
    if dtype == torch.float32:
        return single
    # to odd: a float32 below in magnitude, with its last bit set where anything was lost
    bits = single.view(torch.int32)
    rounded_up = torch.isfinite(wide) & (single.double().abs() > wide.abs())
    bits = torch.where(rounded_up, bits - 1, bits)
    lost = torch.isfinite(wide) & (bits.view(torch.float32).double() != wide)
    return torch.where(lost, bits | 1, bits).view(torch.float32).to(dtype)
