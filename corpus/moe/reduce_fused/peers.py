"""The same sum as a PyTorch user writes it, which adds in an order of its own, and positions as they occur."""

import torch


def reduce_fused(x: torch.Tensor, position: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor) -> torch.Tensor:
    """Return (T, H): the weighted sum of rows of x (P, H) at position (T, K), -1 for none."""
    return _sum(x, position, weight, x_scale).to(x.dtype)


def reduce_fused_e4m3(
    x: torch.Tensor, position: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    """Return the same times a scale, in e4m3."""
    return (_sum(x, position, weight, x_scale) * scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)


def _sum(x: torch.Tensor, position: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor) -> torch.Tensor:
    place = position.clamp(min=0)
    factor = torch.where(position >= 0, weight * x_scale[place], 0.0)
    return (x[place].float() * factor.unsqueeze(2)).sum(dim=1)


def prepare(given: dict[str, object]) -> dict[str, object]:
    """Give every slot of every token a row of its own, in any order."""
    old, x = given["position"], given["x"]
    assert isinstance(old, torch.Tensor)
    assert isinstance(x, torch.Tensor)
    generator = torch.Generator().manual_seed(int(old.flatten()[0]))
    order = torch.randperm(len(x), generator=generator)[: old.numel()]
    return {**given, "position": order.int().reshape(old.shape).to(old.device)}
