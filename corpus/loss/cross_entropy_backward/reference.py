"""The gradient of a label-smoothed cross entropy in float64, rounded at the end."""

import torch

IGNORED = -100


def reference(logits: torch.Tensor, targets: torch.Tensor, dloss: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
    """Return the gradient of logits (T, V) for classes (T) and losses' gradients (T)."""
    return reference_f64(logits, targets, dloss, smoothing).to(logits.dtype)


def reference_f64(
    logits: torch.Tensor, targets: torch.Tensor, dloss: torch.Tensor, smoothing: float = 0.0
) -> torch.Tensor:
    """Return the same before the last rounding."""
    classes = logits.shape[1]
    out = torch.softmax(logits.double(), dim=1)
    for row, target in enumerate(targets.tolist()):
        if target == IGNORED:
            out[row] = 0
            continue
        wanted = torch.full((classes,), smoothing / max(classes, 1), dtype=torch.float64)
        wanted[target] += 1 - smoothing
        out[row] = (out[row] - wanted) * dloss[row].double()
    return out
