"""The gate in float64; its largest magnitudes and codes from that."""

import numpy as np
import torch
from torch.nn import functional


def reference(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes (T, H) and scales (T, H / 128) of x (T, 2 H)."""
    gate, value = x.double().numpy()[:, : x.shape[1] // 2], x.double().numpy()[:, x.shape[1] // 2 :]
    act = gate / (1 + np.exp(-gate)) * value * weight.double().numpy()[:, None]
    groups = act.reshape(len(act), act.shape[1] // 128, 128)
    largest = np.maximum(np.abs(groups).max(axis=2, initial=0.0), 1e-4)
    scaled = np.clip((groups * (448 / largest)[:, :, None]).reshape(act.shape), -448, 448)
    return torch.from_numpy(scaled).float().to(torch.float8_e4m3fn), torch.from_numpy(largest / 448).float()


def baseline(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same in PyTorch's f32."""
    gate, value = x.float().chunk(2, dim=1)
    act = functional.silu(gate) * value * weight[:, None]
    groups = act.view(len(act), act.shape[1] // 128, 128)
    largest = groups.abs().amax(dim=2).clamp(min=1e-4)
    factor = torch.full_like(largest, 448.0) / largest
    codes = (groups * factor[:, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return codes.view(act.shape), largest / 448
