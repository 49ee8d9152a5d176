"""Each part in float64, rounded at the end."""

import torch


def reference(mixes: torch.Tensor, scale: torch.Tensor, base: torch.Tensor, eps: float, factor: float) -> tuple[torch.Tensor, ...]:
    """Return pre (T, 4), post (T, 4) and comb (T, 4, 4)."""
    return tuple(part.float() for part in reference_f64(mixes, scale, base, eps, factor))


def reference_f64(mixes: torch.Tensor, scale: torch.Tensor, base: torch.Tensor, eps: float, factor: float) -> tuple[torch.Tensor, ...]:
    """Return the same before the rounding."""
    z = mixes.double() * scale.double().repeat_interleave(torch.tensor([4, 4, 16])) + base.double()
    single = [float(torch.tensor(number)) for number in (eps, factor)]
    return torch.sigmoid(z[:, :4]) + single[0], torch.sigmoid(z[:, 4:8]) * single[1], z[:, 8:].reshape(-1, 4, 4)
