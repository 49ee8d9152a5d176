"""Squared ReLU in float64: squares of bf16 numbers are exact there, and rounded to float32 and then to bf16."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """Square what is positive of x (N); NaN stays NaN."""
    wide = x.double()
    squares = torch.where(wide <= 0, torch.zeros_like(wide), wide * wide)
    return squares.float().to(x.dtype)
