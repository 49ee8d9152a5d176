"""Row by row with a set of the groups that have been seen."""

import torch


def reference(idx: torch.Tensor, per_group: int) -> torch.Tensor:
    """Return idx (T, K) with later members of a group replaced by -1."""
    found = idx.clone()
    for row in range(len(idx)):
        seen: set[int] = set()
        for slot, v in enumerate(idx[row].tolist()):
            if v >= 0:
                if v // per_group in seen:
                    found[row, slot] = -1
                seen.add(v // per_group)
    return found


def baseline(idx: torch.Tensor, per_group: int) -> torch.Tensor:
    """Return the same by comparing each index's group with those before it."""
    group = idx // per_group
    earlier = (group[:, :, None] == group[:, None, :]).tril(diagonal=-1).any(dim=2)
    return torch.where(earlier & (idx >= 0), -1, idx)
