"""The layout one row at a time; what neither token nor padding owns keeps its bytes."""

import torch


def reference(x: torch.Tensor, position: torch.Tensor, expert: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Return out (P, H), which holds what was there before, with rows of x (T, H) and rows of zeros written."""
    found = out.clone()
    found[(expert < 0).nonzero().flatten()] = 0
    for token, places in enumerate(position.tolist()):
        for place in places:
            if place != -1:
                found[place] = x[token]
    return found


def baseline(x: torch.Tensor, position: torch.Tensor, expert: torch.Tensor) -> torch.Tensor:
    """Return the rows that are written, by the token of each; those that are not hold 0."""
    rows, tokens = len(expert), torch.arange(len(x), dtype=torch.int32, device=x.device)
    if not len(x):
        return x.new_zeros(rows, x.shape[1])
    # what has no place goes to one row more, which is cut off
    source = torch.full((rows + 1,), -1, dtype=torch.int32, device=x.device)
    place = torch.where(position < 0, rows, position).flatten().long()
    source = source.scatter(0, place, tokens.repeat_interleave(position.shape[1]))[:rows]
    return torch.where(source[:, None] < 0, 0.0, x[source.clamp(min=0)])
