"""Weights of experts normalised in slot order: every step in float64, rounded once to float32.

Rounding a sum or quotient of two float32 numbers twice, to 53 bits and then to 24, gives the once-rounded one, because
53 >= 2 * 24 + 2.
"""

import torch


def reference(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return 1e-20 + the sum of each row of weight (T, K) in order, and the row divided by it."""
    denominator = torch.full_like(weight[:, :1].sum(dim=1), 1e-20)
    for column in weight.unbind(dim=1):
        denominator = (denominator.double() + column.double()).float()
    return denominator, (weight.double() / denominator.double().unsqueeze(1)).float()
