"""Binary cross entropy with logits in float64, rounded at the end."""

import torch


def reference(x: torch.Tensor, target: torch.Tensor, pos_weight: torch.Tensor | None = None) -> torch.Tensor:
    """Return the loss of every logit of x (T, C), in f32."""
    return reference_f64(x, target, pos_weight).float()


def reference_f64(x: torch.Tensor, target: torch.Tensor, pos_weight: torch.Tensor | None = None) -> torch.Tensor:
    """Return the same before the last rounding."""
    wide = x.double()
    weight = torch.ones(x.shape[1], dtype=torch.float64) if pos_weight is None else pos_weight.double()
    surprise = -torch.nn.functional.logsigmoid(torch.stack((-wide, wide)))
    return torch.where(target, surprise[1] * weight, surprise[0])
