"""The same counts as a PyTorch user takes them."""

import torch

EXPERTS = 256


def expert_counts(choice: torch.Tensor, E: int = EXPERTS) -> torch.Tensor:
    """Return how often each of E numbers is in choice (T, K), all of them from 0."""
    return torch.bincount(choice.flatten(), minlength=E).to(torch.int32)


def prepare(given: dict[str, object]) -> dict[str, object]:
    """Make every choice one of the experts, as the library's function wants it."""
    choice = given["choice"]
    assert isinstance(choice, torch.Tensor)
    return {**given, "choice": choice.clamp(min=0)}
