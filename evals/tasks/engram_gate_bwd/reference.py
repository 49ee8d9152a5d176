"""Everything in float64, rounded at the end."""

import torch


def reference(x, k, v, w, dout, dot, gate, rx, rk, clamp):
    """Return dx, dk (T, 4, H), dv (T, H) and dw (4, H)."""
    dx, dk, dv, dw = reference_f64(x, k, v, w, dout, dot, gate, rx, rk, clamp)
    return dx.bfloat16(), dk.bfloat16(), dv.bfloat16(), dw.float()


def reference_f64(x, k, v, w, dout, dot, gate, rx, rk, clamp):
    """Return the same before the rounding."""
    x, k, v, w, dout = (t.double() for t in (x, k, v, w, dout))
    dot, gate, rx, rk = (t.double()[:, :, None] for t in (dot, gate, rx, rk))
    width = x.shape[2]
    c = width**-0.5
    d = (dout * v[:, None, :]).sum(dim=2, keepdim=True)
    slope = d * gate * (1 - gate) * 0.5 * (c * rx * rk / dot.abs()).sqrt()
    dl = torch.where(dot.abs() * c * rx * rk < float(torch.tensor(clamp)), 0.0, slope)
    dx = dout + dl * (k * w - x * dot * rx * rx / width)
    dk = dl * (x * w - k * dot * rk * rk / width)
    return dx, dk, (dout * gate).sum(dim=1), (dl * x * k).sum(dim=0)


def baseline(x, k, v, w, dout, dot, gate, rx, rk, clamp):
    """Return the same in PyTorch's f32."""
    stream, key, value, given = (t.float() for t in (x, k, v, dout))
    dot, gate, rx, rk = (t[:, :, None] for t in (dot, gate, rx, rk))
    width = x.shape[2]
    c = width**-0.5
    d = (given * value[:, None, :]).sum(dim=2, keepdim=True)
    slope = d * gate * (1 - gate) * 0.5 * (c * rx * rk / dot.abs()).sqrt()
    dl = torch.where(dot.abs() * c * rx * rk < clamp, 0.0, slope)
    dx = given + dl * (key * w - stream * dot * rx * rx / width)
    dk = dl * (stream * w - key * dot * rk * rk / width)
    dv, dw = (given * gate).sum(dim=1), (dl * stream * key).sum(dim=0)
    return dx.bfloat16(), dk.bfloat16(), dv.bfloat16(), dw
