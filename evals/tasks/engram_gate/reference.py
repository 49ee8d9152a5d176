"""Everything in float64, rounded at the end."""

import torch


def reference(x: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w: torch.Tensor, eps: float, clamp: float) -> torch.Tensor:
    """Return the streams (T, 4, H)."""
    return reference_f64(x, k, v, w, eps, clamp).to(x.dtype)


def reference_f64(x: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w: torch.Tensor, eps: float, clamp: float) -> torch.Tensor:
    """Return the same before the rounding."""
    eps, clamp = (float(torch.tensor(number)) for number in (eps, clamp))
    x64, k64 = x.double(), k.double()
    dot = (x64 * w.double() * k64).sum(dim=2)
    rx, rk = ((t.square().mean(dim=2) + eps).rsqrt() for t in (x64, k64))
    size = (dot * rx * rk * x.shape[2] ** -0.5).abs().clamp(min=clamp).sqrt()
    gate = torch.sigmoid(torch.copysign(size, dot))
    return x64 + gate[:, :, None] * v.double()[:, None, :]


def baseline(x: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w: torch.Tensor, eps: float, clamp: float) -> torch.Tensor:
    """Return the streams in PyTorch's f32."""
    stream, key = x.float(), k.float()
    dot = (stream * w * key).sum(dim=2)
    rx, rk = ((t.square().mean(dim=2) + eps).rsqrt() for t in (stream, key))
    size = (dot * rx * rk * x.shape[2] ** -0.5).abs().clamp(min=clamp).sqrt()
    gate = torch.sigmoid(torch.copysign(size, dot))
    return (stream + gate[:, :, None] * v.float()[:, None, :]).to(x.dtype)
