"""Everything in float64; codes and scales from that."""

import torch


def reference(x: torch.Tensor, x_sf: torch.Tensor, dout: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return out (T, H), q (T, 2 H), q_sf (T, H / 16), dw (T)."""
    out, q, q_sf, dw = reference_f64(x, x_sf, dout, weight)
    return out.bfloat16(), q.float().to(torch.float8_e4m3fn), q_sf.float(), dw.float()


def reference_f64(x: torch.Tensor, x_sf: torch.Tensor, dout: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the same before the roundings."""
    wide = x.double() * x_sf.double().repeat_interleave(32, dim=1)
    left, right = wide.chunk(2, dim=1)
    s, w = torch.sigmoid(left), weight.double()[:, None]
    act, g = left * s * right, dout.double() * w
    grad = torch.cat((g * s * right * (1 + left * (1 - s)), g * left * s), dim=1)
    groups = grad.reshape(len(grad), x.shape[1] // 32, 32)
    largest = groups.abs().amax(dim=2).clamp(min=float(torch.tensor(1e-4)))
    scaled = (groups * (448 / largest)[:, :, None]).reshape(grad.shape).clamp(-448, 448)
    return act * w, scaled, largest / 448, (dout.double() * act).sum(dim=1)


def baseline(x: torch.Tensor, x_sf: torch.Tensor, dout: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the same in PyTorch's f32."""
    rows, columns = x.shape
    groups = x.float().view(rows, columns // 32, 32) * x_sf[:, :, None]
    left, right = groups.view(rows, columns).chunk(2, dim=1)
    s, w, given = torch.sigmoid(left), weight[:, None], dout.float()
    act, g = left * s * right, given * w
    grad = torch.cat((g * s * right * (1 + left * (1 - s)), g * left * s), dim=1).view(groups.shape)
    largest = grad.abs().amax(dim=2).clamp(min=1e-4)
    factor = torch.full_like(largest, 448.0) / largest
    q = (grad * factor[:, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return (act * w).bfloat16(), q.view(rows, columns), largest / 448, (given * act).sum(dim=1)
