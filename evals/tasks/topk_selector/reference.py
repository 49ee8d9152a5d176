"""A stable sort of each window."""

import numpy as np
import torch


def reference(x: torch.Tensor, start: torch.Tensor, end: torch.Tensor, TOPK: int) -> torch.Tensor:
    """Return the positions (T, TOPK) of the largest elements of windows of x (T, N)."""
    found = torch.full((len(x), TOPK), -1, dtype=torch.int32)
    for t in range(len(x)):
        window = x[t, int(start[t]) : int(end[t])].numpy()
        best = np.sort(np.argsort(-window, kind="stable")[:TOPK]) + int(start[t])
        found[t, : len(best)] = torch.from_numpy(best.astype(np.int32))
    return found


def baseline(x: torch.Tensor, start: torch.Tensor, end: torch.Tensor, TOPK: int) -> torch.Tensor:
    """Return the positions above the least value that the library's top-k keeps, then the first of its equals."""
    rows, columns = x.shape
    place = torch.arange(columns, dtype=torch.int32, device=x.device)
    inside = (place >= start[:, None]) & (place < end[:, None])
    seen = x.masked_fill(~inside, -torch.inf)
    least = seen.topk(min(TOPK, columns), dim=1, sorted=False).values.amin(dim=1, keepdim=True)
    above, equal = seen > least, (seen == least) & inside
    room = TOPK - above.sum(dim=1, keepdim=True)
    chosen = above | (equal & (equal.cumsum(dim=1) <= room))
    # what is not chosen goes to one column more, which is cut off
    column = torch.where(chosen, chosen.cumsum(dim=1) - 1, TOPK)
    empty = torch.full((rows, TOPK + 1), -1, dtype=torch.int32, device=x.device)
    return empty.scatter(1, column, place.expand(rows, columns))[:, :TOPK].contiguous()
