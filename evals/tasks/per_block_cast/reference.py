"""The cast block by block in NumPy, every step in float32 as the definition has it."""

import numpy as np
import torch
from torch.nn import functional

BLOCK = 128


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes (T, H) and the scales of blocks of x (T, H)."""
    rows, columns = x.shape
    codes = torch.empty(rows, columns, dtype=torch.float8_e4m3fn)
    scales = torch.empty(-(-rows // BLOCK), -(-columns // BLOCK), dtype=torch.float32)
    for i in range(scales.shape[0]):
        for j in range(scales.shape[1]):
            place = (slice(i * BLOCK, i * BLOCK + BLOCK), slice(j * BLOCK, j * BLOCK + BLOCK))
            block = x[place].float().numpy()
            largest = np.maximum(np.abs(block).max(), np.float32(1e-4))
            with np.errstate(all="ignore"):
                scales[i, j] = float(largest / np.float32(448))
                scaled = np.clip(block * (np.float32(448) / largest), -448, 448)
            codes[place] = torch.from_numpy(scaled).to(torch.float8_e4m3fn)
    return codes, scales


def baseline(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same over padded blocks in PyTorch's f32."""
    rows, columns = x.shape
    high, wide = -(-rows // BLOCK), -(-columns // BLOCK)
    padded = functional.pad(x, (0, wide * BLOCK - columns, 0, high * BLOCK - rows))
    blocks = padded.view(high, BLOCK, wide, BLOCK).float()
    largest = blocks.abs().amax(dim=(1, 3)).clamp(min=1e-4)
    factor = torch.full_like(largest, 448.0) / largest
    codes = (blocks * factor[:, None, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return codes.view(padded.shape)[:rows, :columns].contiguous(), largest / 448
