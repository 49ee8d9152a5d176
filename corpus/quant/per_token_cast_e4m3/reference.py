"""Per-token quantisation to e4m3 in torch, with every rounding where the definition has it.

sf = max(amax, 1e-4) / 448 and factor = 448 / max(amax, 1e-4) are two IEEE divisions in f32. torch spells `448.0 / a` as
a reciprocal and a product, and may turn a division by a Python number into a product: both operands are tensors here.
"""

import torch

GROUP = 128


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantise x (T, H) to e4m3 codes (T, H) and scales (T, ceil(H / 128))."""
    rows, columns = x.shape
    groups = -(-columns // GROUP)
    padded = torch.zeros(rows, groups * GROUP, dtype=torch.float32)
    padded[:, :columns] = x.float()
    grouped = padded.reshape(rows, groups, GROUP)
    amax = grouped.abs().amax(dim=2) if columns else torch.zeros(rows, 0)
    clamped = torch.maximum(amax, torch.tensor(1e-4))
    largest = torch.full_like(clamped, 448.0)
    scaled = grouped * torch.div(largest, clamped)[:, :, None]
    codes = scaled.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    return codes.reshape(rows, groups * GROUP)[:, :columns], torch.div(clamped, largest)
