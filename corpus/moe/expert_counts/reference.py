"""Counts by a Python loop over every choice."""

import torch


def reference(choice: torch.Tensor, E: int) -> torch.Tensor:
    """Return how often each of E numbers is in choice (T, K); -1 counts nowhere."""
    count = [0] * E
    for number in choice.flatten().tolist():
        if number >= 0:
            count[number] += 1
    return torch.tensor(count, dtype=torch.int32)
