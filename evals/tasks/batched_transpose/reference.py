"""Element by element through NumPy's axes."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """Return x (B, M, N) with its last two axes exchanged."""
    return torch.stack([matrix.t() for matrix in x]) if len(x) else x.new_empty(0, x.shape[2], x.shape[1])


def baseline(x: torch.Tensor) -> torch.Tensor:
    """Return the same by the library's copy."""
    return x.transpose(1, 2).contiguous()
