"""The gathered matrix, block by block in NumPy, every step in float32."""

import numpy as np
import torch
from torch.nn import functional


def reference(x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes (P, H) and scales (ceil(P / 128), H) of the rows of x (T, H) that position (P) names."""
    rows = np.zeros((len(position), x.shape[1]), np.float32)
    for p, place in enumerate(position.tolist()):
        if place != -1:
            rows[p] = x[place].float().numpy()
    scales = np.zeros((-(-len(rows) // 128), x.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for b in range(len(scales)):
            block = rows[128 * b : 128 * b + 128]
            largest = np.maximum(np.abs(block).max(axis=0), np.float32(1e-4))
            scales[b] = largest / np.float32(448)
            rows[128 * b : 128 * b + 128] = np.clip(block * (np.float32(448) / largest), -448, 448)
    return torch.from_numpy(rows).to(torch.float8_e4m3fn), torch.from_numpy(scales)


def baseline(x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same over padded blocks of gathered rows in PyTorch's f32."""
    count, columns = len(position), x.shape[1]
    found = x[position.clamp(min=0)] if len(x) else x.new_zeros(count, columns)
    rows = torch.where(position[:, None] < 0, 0.0, found)
    padded = functional.pad(rows, (0, 0, 0, -count % 128))
    blocks = padded.view(len(padded) // 128, 128, columns).float()
    largest = blocks.abs().amax(dim=1).clamp(min=1e-4)
    factor = torch.full_like(largest, 448.0) / largest
    codes = (blocks * factor[:, None, :]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return codes.view(padded.shape)[:count].contiguous(), largest / 448
