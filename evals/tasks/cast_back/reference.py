"""Scales repeated over their blocks, one product in float32, one rounding to bf16."""

import numpy as np
import torch


def reference(q: torch.Tensor, sf: torch.Tensor) -> torch.Tensor:
    """Return q (T, H) times the scale of each block of 128 x 128."""
    rows, columns = q.shape
    every = np.repeat(np.repeat(sf.numpy(), 128, axis=0)[:rows], 128, axis=1)[:, :columns]
    with np.errstate(all="ignore"):
        return torch.from_numpy(q.float().numpy() * every).to(torch.bfloat16)


def baseline(q: torch.Tensor, sf: torch.Tensor) -> torch.Tensor:
    """Return the same in PyTorch's f32."""
    rows, columns = q.shape
    every = sf.repeat_interleave(128, dim=1)[:, :columns].repeat_interleave(128, dim=0)[:rows]
    return (q.float() * every).to(torch.bfloat16)
