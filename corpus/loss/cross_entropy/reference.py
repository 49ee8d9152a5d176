"""Cross entropy in float64, rounded at the end."""

import torch

IGNORED = -100


def reference(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the loss (T) of logits (T, V) against classes (T), 0 for a class of -100."""
    return reference_f64(logits, targets).float()


def reference_f64(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the same before the last rounding."""
    loss = torch.zeros(len(targets), dtype=torch.float64)
    for row, target in enumerate(targets.tolist()):
        if target != IGNORED:
            wide = logits[row].double()
            loss[row] = torch.logsumexp(wide, dim=0) - wide[target]
    return loss
