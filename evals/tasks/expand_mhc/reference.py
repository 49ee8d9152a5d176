"""A repetition."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """Repeat x (T, H) along a new axis."""
    return torch.stack([x, x, x, x], dim=1)


def baseline(x: torch.Tensor) -> torch.Tensor:
    """Return the same by the library's copy."""
    return x[:, None].repeat(1, 4, 1)
