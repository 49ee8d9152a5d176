"""Both products in float64, where they are exact; one rounding to f16."""

import numpy as np
import torch


def reference(a: torch.Tensor, b: torch.Tensor, dout: torch.Tensor) -> torch.Tensor:
    """Return the gradient with respect to a (N, M)."""
    a64, b64, d64 = (t.numpy().astype(np.float64) for t in (a, b, dout))
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.where(a64 * b64 > 0, d64 * b64, 0.0).astype(np.float16))


def baseline(a: torch.Tensor, b: torch.Tensor, dout: torch.Tensor) -> torch.Tensor:
    """Return the gradient, the comparison in f32."""
    return torch.where(a.float() * b.float() > 0, dout * b, 0.0)
