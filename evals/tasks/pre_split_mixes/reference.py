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


def baseline(mixes: torch.Tensor, scale: torch.Tensor, base: torch.Tensor, eps: float, factor: float) -> tuple[torch.Tensor, ...]:
    """Return each part in PyTorch's f32."""
    pre, post, comb = mixes.split((4, 4, 16), dim=1)
    pre_base, post_base, comb_base = base.split((4, 4, 16))
    return (
        torch.sigmoid(pre * scale[0] + pre_base) + eps,
        torch.sigmoid(post * scale[1] + post_base) * factor,
        (comb * scale[2] + comb_base).view(-1, 4, 4),
    )
