"""Rows added one at a time, in integers of 64 bits that wrap to 32 at the end."""

import torch


def reference(table: torch.Tensor, ids: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return table (S, H) with row t of x (T, H) added to row ids[t], -1 for none."""
    total = table.long()
    for row, place in enumerate(ids.tolist()):
        if place >= 0:
            total[place] += x[row].long()
    return total.to(torch.int32)
