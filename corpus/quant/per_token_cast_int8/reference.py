"""Quantisation of rows to i8 in torch, with every rounding where the definition has it.

Both divisions are IEEE divisions in f32; their operands are tensors, because torch may turn a division by a Python
number into a product. What is not a number becomes 0.
"""

import torch


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantise x (T, H) to codes of -127 to 127 (T, H) and scales (T)."""
    wide = x.float()
    amax = wide.abs().amax(dim=1) if x.shape[1] else torch.zeros(len(x))
    scale = torch.div(torch.maximum(amax, torch.tensor(1e-8)), torch.tensor(127.0))
    codes = torch.div(wide, scale[:, None]).round().clamp(-127.0, 127.0)
    return codes.nan_to_num(0.0).to(torch.int8), scale
