"""The cast group by group in NumPy, every step in float32 as the definition has it."""

import numpy as np
import torch
from torch.nn import functional

GROUP = 128


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes (T, H) and scales (T, ceil(H / 128)) of x (T, H)."""
    rows, columns = x.shape
    codes = torch.empty(rows, columns, dtype=torch.float8_e4m3fn)
    scales = torch.empty(rows, -(-columns // GROUP), dtype=torch.float32)
    for number, start in enumerate(range(0, columns, GROUP)):
        group = x[:, start : start + GROUP].float().numpy()
        largest = np.maximum(np.abs(group).max(axis=1), np.float32(1e-4))
        with np.errstate(all="ignore"):
            scales[:, number] = torch.from_numpy(largest / np.float32(448))
            scaled = group * (np.float32(448) / largest)[:, None]
        codes[:, start : start + GROUP] = torch.from_numpy(np.clip(scaled, -448, 448)).to(torch.float8_e4m3fn)
    return codes, scales


def baseline(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same over padded groups in PyTorch's f32."""
    rows, columns = x.shape
    padded = functional.pad(x, (0, -columns % GROUP))
    groups = padded.view(rows, padded.shape[1] // GROUP, GROUP).float()
    largest = groups.abs().amax(dim=2).clamp(min=1e-4)
    factor = torch.full_like(largest, 448.0) / largest
    codes = (groups * factor[:, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return codes.view(padded.shape)[:, :columns].contiguous(), largest / 448
