"""The cast group by group; the exponent is taken from frexp: s = m * 2 ** e with m in [1/2, 1)."""

import numpy as np
import torch
from torch.nn import functional

GROUP = 128


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes (T, H) and biased exponents (ceil(H / 128), T) of x (T, H)."""
    rows, columns = x.shape
    codes = torch.empty(rows, columns, dtype=torch.float8_e4m3fn)
    exponents = torch.empty(-(-columns // GROUP), rows, dtype=torch.uint8)
    for number, start in enumerate(range(0, columns, GROUP)):
        group = x[:, start : start + GROUP].float().numpy()
        scale = np.maximum(np.abs(group).max(axis=1), np.float32(1e-4)) / np.float32(448)
        significand, exponent = np.frexp(scale)
        exponent = np.where(significand == 0.5, exponent - 1, exponent)
        scaled = np.ldexp(group.astype(np.float64), -exponent[:, None])
        codes[:, start : start + GROUP] = torch.from_numpy(np.clip(scaled, -448, 448)).float().to(torch.float8_e4m3fn)
        exponents[number] = torch.from_numpy((exponent + 127).astype(np.uint8))
    return codes, exponents


def baseline(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same over padded groups in PyTorch's f32, powers of two made from their bits."""
    rows, columns = x.shape
    padded = functional.pad(x, (0, -columns % GROUP))
    groups = padded.view(rows, padded.shape[1] // GROUP, GROUP).float()
    bits = (groups.abs().amax(dim=2).clamp(min=1e-4) / 448).view(torch.int32)
    exponent = (bits + 0x7FFFFF) >> 23
    factor = ((254 - exponent) << 23).view(torch.float32)
    codes = (groups * factor[:, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return codes.view(padded.shape)[:, :columns].contiguous(), exponent.to(torch.uint8).t().contiguous()
