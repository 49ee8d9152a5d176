"""The same recurrence as a PyTorch user writes it, one operation a step: not for a compiler, which would unroll it."""

import torch


@torch.compiler.disable
def linear_recurrence(a: torch.Tensor, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last h (B, H), in place of state, and every h (B, T, H) of h = a * h + x."""
    out = torch.empty_like(x)
    carried = state
    for time in range(x.shape[1]):
        carried = torch.addcmul(x[:, time], a[:, time], carried, out=out[:, time])
    return state.copy_(carried), out
